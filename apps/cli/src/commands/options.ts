import { resolve } from 'node:path';
import { parseAdvertise } from '../config/advertise.ts';
import type { ApiServerConfig } from '../config/apiserver.ts';
import type { ProcessConfig } from '../config/capstan.ts';
import { Failure, type StartContext } from '../failure.ts';
import type { LogFormat } from '../log.ts';
import { optionalVersions } from './runtime-config.ts';

export const defaultDataDirectory = './capstan-data';
export const defaultPort = 6443;
export const defaultHealthPort = 10_257;
export const defaultPlatformHealthPort = 10_258;
export const defaultRestPort = 6444;
export const defaultRestHealthPort = 10_259;
export const defaultConsolePort = 6445;
export const defaultConsoleHealthPort = 10_260;
export const defaultHost = '127.0.0.1';

/** The command-line flags of `capstan apiserver`. Flags override the file. */
export interface ApiServerFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly logFormat?: LogFormat;
  readonly host?: string;
  readonly port?: number;
  readonly advertise?: Advertise;
  readonly etcdEndpoints?: readonly string[];
  readonly runtimeConfig?: readonly string[];
}

/** Where clients reach the server, if not at the address it listens on. */
export interface Advertise {
  readonly host: string;
  readonly port?: number;
}

export interface ApiServerSettings extends StartContext {
  readonly advertise: Advertise | undefined;
  readonly logFormat: LogFormat;
  readonly etcdEndpoints: readonly string[] | undefined;
  readonly optionalVersions: readonly string[];
  readonly file: ApiServerConfig;
}

export function settings(
  flags: ApiServerFlags,
  { dataDirectory, logFormat, settings: file }: ProcessConfig<ApiServerConfig>,
): ApiServerSettings {
  return {
    dataDirectory: resolve(flags.dataDir ?? dataDirectory ?? defaultDataDirectory),
    logFormat: flags.logFormat ?? logFormat ?? 'text',
    advertise: flags.advertise ?? (file.advertise === undefined ? undefined : parseAdvertise(file.advertise)),
    host: flags.host ?? file.listen?.host ?? defaultHost,
    port: flags.port ?? file.listen?.port ?? defaultPort,
    etcdEndpoints: flags.etcdEndpoints ?? file.etcd?.endpoints,
    optionalVersions: flags.runtimeConfig ?? optionalVersions.filter((version) => file.runtimeConfig?.[version]),
    file,
  };
}

export function parsePort(value: string): number {
  const port = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(port >= 1 && port <= 65_535)) throw new Failure('usage', `--port: expected a whole number from 1 to 65535, found "${value}".`);
  return port;
}

/** 0 means any free port. */
export function parseHealthPort(value: string): number {
  return value === '0' ? 0 : parsePort(value);
}

export function parseAdvertiseFlag(value: string): Advertise {
  const parsed = parseAdvertise(value);
  if (parsed === undefined)
    throw new Failure('usage', `--advertise: expected a host such as api.example.com or api.example.com:443, found "${value}".`);
  return parsed;
}

export function parseEndpoints(value: string): string[] {
  const endpoints = value.split(',').map((endpoint) => endpoint.trim());
  for (const endpoint of endpoints) {
    if (!/^https?:\/\/[^/]+$/.test(endpoint)) {
      throw new Failure(
        'usage',
        `--etcd-endpoints: expected URLs such as http://127.0.0.1:2379, separated by commas, found "${endpoint}".`,
      );
    }
  }
  return endpoints;
}
