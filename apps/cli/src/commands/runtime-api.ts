import { join, resolve } from 'node:path';
import { tokenFileCredentials } from '@capstan/client';
import { defaultLimits, type RestLimits, startRuntimeApi } from '@capstan/runtime-api';
import { type ProcessConfig, readProcessConfig } from '../config/capstan.ts';
import { type RuntimeApiConfig, runtimeApiShape } from '../config/runtime-api.ts';
import type { LogFormat } from '../log.ts';
import { defaultDataDirectory, defaultRestHealthPort, defaultRestPort } from './options.ts';
import { announceServer, type Run, readSetting, runServer, untilAborted } from './serving.ts';

export interface RuntimeApiFlags {
  readonly config?: string;
  readonly logFormat?: LogFormat;
  readonly kubeconfig?: string;
  readonly dataDir?: string;
  readonly port?: number;
  readonly healthPort?: number;
  readonly jobTokenFile?: string;
}

/** Serves the REST API in this process until a signal stops it. */
export async function runtimeApi(flags: RuntimeApiFlags): Promise<void> {
  const config: ProcessConfig<RuntimeApiConfig> =
    flags.config === undefined ? { settings: {} } : readProcessConfig(flags.config, 'runtimeApi', runtimeApiShape);
  const logFormat = flags.logFormat ?? config.logFormat;
  await runServer({ name: 'runtime-api', section: 'runtimeApi', settings: settingsOf(flags, config), logFormat }, serve);
}

async function serve({ settings, connection, write }: Run<ReturnType<typeof settingsOf>>, signal: AbortSignal): Promise<void> {
  const { host, port, health, tls, limits, jobTokenFile } = settings;
  await using api = await startRuntimeApi({
    connection,
    host,
    port,
    healthAt: health,
    limits,
    log: write,
    ...(jobTokenFile !== undefined && { jobs: { credentials: tokenFileCredentials({ path: jobTokenFile }) } }),
    ...(tls && { tls: { certificate: readSetting(tls.certificateFile), key: readSetting(tls.keyFile) } }),
  });
  const url = announceServer(settings, api);
  write(`REST API at ${url}/api/v1, documentation at ${url}/api/v1/docs, for the API server ${connection.server}`);
  await untilAborted(signal);
}

function settingsOf(flags: RuntimeApiFlags, config: ProcessConfig<RuntimeApiConfig>) {
  const { settings: file } = config;
  const dataDirectory = resolve(flags.dataDir ?? config.dataDirectory ?? defaultDataDirectory);
  const own = join(dataDirectory, 'runtime-api.kubeconfig');
  const fromFile = flags.dataDir === undefined ? (file.kubeconfigFile ?? own) : own;
  const { certificateFile, keyFile } = file.tls ?? {};
  return {
    dataDirectory,
    kubeconfigPath: flags.kubeconfig === undefined ? fromFile : resolve(flags.kubeconfig),
    host: file.listen?.host ?? '127.0.0.1',
    port: flags.port ?? file.listen?.port ?? defaultRestPort,
    health: { host: file.health?.host ?? '127.0.0.1', port: flags.healthPort ?? file.health?.port ?? defaultRestHealthPort },
    tls: certificateFile === undefined || keyFile === undefined ? undefined : { certificateFile, keyFile },
    limits: limitsOf(file.limits),
    jobTokenFile: flags.jobTokenFile ?? file.jobs?.tokenFile,
  };
}

function limitsOf(file: RuntimeApiConfig['limits'] = {}): RestLimits {
  const { connections, streams, traffic } = defaultLimits;
  const mebibyte = 2 ** 20;
  return {
    ...defaultLimits,
    body: file.bodyBytes ?? defaultLimits.body,
    connections: {
      perAddress: file.connectionsPerAddress ?? connections.perAddress,
      overall: file.connections ?? connections.overall,
    },
    traffic: {
      requests: file.requests ?? traffic.requests,
      requestsPerToken: file.requestsPerToken ?? traffic.requestsPerToken,
      bytes: file.heldMiB === undefined ? traffic.bytes : file.heldMiB * mebibyte,
      bytesPerToken: file.heldPerTokenMiB === undefined ? traffic.bytesPerToken : file.heldPerTokenMiB * mebibyte,
    },
    streams: { ...streams, perUser: file.streamsPerUser ?? streams.perUser, overall: file.streams ?? streams.overall },
  };
}
