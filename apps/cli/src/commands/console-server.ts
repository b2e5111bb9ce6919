import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Connection, fixedCredentials } from '@capstan/client';
import { type Console, type ConsoleLimits, type ProviderOptions, startConsole } from '@capstan/console';
import { type ProcessConfig, readProcessConfig } from '../config/capstan.ts';
import { type ConsoleConfig, consoleShape, needsCertificate } from '../config/console.ts';
import { Failure } from '../failure.ts';
import type { LogFormat } from '../log.ts';
import { defaultConsoleHealthPort, defaultConsolePort, defaultDataDirectory, defaultRestPort } from './options.ts';
import { announceServer, type Run, readSetting, runServer, untilAborted } from './serving.ts';

export interface ConsoleServerFlags {
  readonly config?: string;
  readonly logFormat?: LogFormat;
  readonly kubeconfig?: string;
  readonly dataDir?: string;
  readonly port?: number;
  readonly healthPort?: number;
  readonly restUrl?: string;
}

/** Serves the console in this process until a signal stops it. */
export async function consoleServer(flags: ConsoleServerFlags): Promise<void> {
  const config: ProcessConfig<ConsoleConfig> =
    flags.config === undefined ? { settings: {} } : readProcessConfig(flags.config, 'console', consoleShape);
  const logFormat = flags.logFormat ?? config.logFormat;
  await runServer({ name: 'console', section: 'console', settings: settingsOf(flags, config), logFormat }, serve);
}

async function serve({ settings, connection, write }: Run<ReturnType<typeof settingsOf>>, signal: AbortSignal): Promise<void> {
  const { host, port, health, tls, dataDirectory, file } = settings;
  await using running = await startConsole({
    connection,
    rest: settings.rest,
    host,
    port,
    healthAt: health,
    dataDirectory,
    pagesDirectory: file.pagesDirectory ?? builtPages(),
    limits: limitsOf(file),
    log: write,
    ...(file.plainText === true && { behindProxy: true }),
    ...(file.names && { names: file.names }),
    ...(file.oidc && { oidc: providerOf(file.oidc) }),
    ...(tls && { tls: { certificate: readSetting(tls.certificateFile), key: readSetting(tls.keyFile) } }),
  });
  write(`console at ${announceServer(settings, running)}, for the API server ${connection.server}`);
  if (tls !== undefined) followCertificate(tls, running, signal);
  await untilAborted(signal);
}

/** In milliseconds. */
const lookEvery = 60_000;

/** Uses a certificate that was renewed, for new connections. */
function followCertificate(
  { certificateFile, keyFile }: { readonly certificateFile: string; readonly keyFile: string },
  running: Pick<Console, 'replaceCertificate'>,
  signal: AbortSignal,
): void {
  let used = readSetting(certificateFile);
  const timer = setInterval(() => {
    try {
      const certificate = readSetting(certificateFile);
      if (certificate === used) return;
      running.replaceCertificate({ certificate, key: readSetting(keyFile) });
      used = certificate;
    } catch {
      // The files are being replaced: the next look finds both.
    }
  }, lookEvery);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

function settingsOf(flags: ConsoleServerFlags, config: ProcessConfig<ConsoleConfig>) {
  const { settings: file } = config;
  const dataDirectory = resolve(flags.dataDir ?? config.dataDirectory ?? defaultDataDirectory);
  const own = join(dataDirectory, 'console.kubeconfig');
  const fromFile = flags.dataDir === undefined ? (file.kubeconfigFile ?? own) : own;
  return {
    file,
    dataDirectory,
    kubeconfigPath: flags.kubeconfig === undefined ? fromFile : resolve(flags.kubeconfig),
    host: file.listen?.host ?? '127.0.0.1',
    port: flags.port ?? file.listen?.port ?? defaultConsolePort,
    health: { host: file.health?.host ?? '127.0.0.1', port: flags.healthPort ?? file.health?.port ?? defaultConsoleHealthPort },
    tls: tlsOf(file, dataDirectory),
    rest: restConnection(flags, file),
  };
}

/** Without a certificate of the owner, the one that the API server made with its own authority. */
function tlsOf(file: ConsoleConfig, dataDirectory: string) {
  const { certificateFile, keyFile } = file.tls ?? {};
  if (certificateFile !== undefined && keyFile !== undefined) return { certificateFile, keyFile };
  if (!needsCertificate(file)) return undefined;
  const own = { certificateFile: join(dataDirectory, 'pki/console.crt'), keyFile: join(dataDirectory, 'pki/console.key') };
  if (existsSync(own.certificateFile)) return own;
  throw new Failure(
    'usage',
    `sessions would cross the network in plain text: expected "tls" in the section "console" for the address ${file.listen?.host}, because the API server made no ${own.certificateFile}; or "plainText: true" if something in front of it encrypts.`,
  );
}

function restConnection({ restUrl }: ConsoleServerFlags, { runtimeApi }: ConsoleConfig): Connection {
  const { url = restUrl ?? `http://127.0.0.1:${defaultRestPort}`, authorityFile } = runtimeApi ?? {};
  const server = new URL(url).origin;
  return {
    server,
    namespace: 'default',
    credentials: fixedCredentials({}),
    ...(authorityFile !== undefined && { ca: readSetting(authorityFile) }),
  };
}

/** Beside the bundled program, or where the sources build them. */
function builtPages(): string {
  const [bundled, fromSources] = ['../console', '../../../console/dist'].map((place) => join(import.meta.dirname, place));
  return existsSync(join(bundled!, 'index.html')) ? bundled! : fromSources!;
}

function providerOf({
  issuer = '',
  clientId = '',
  clientSecretFile,
  scopes,
  authorityFile,
}: NonNullable<ConsoleConfig['oidc']>): ProviderOptions {
  return {
    issuer,
    clientId,
    ...(clientSecretFile !== undefined && { clientSecret: readSetting(clientSecretFile).trim() }),
    ...(scopes && { scopes }),
    ...(authorityFile !== undefined && { authority: readSetting(authorityFile) }),
  };
}

const minute = 60_000;

function limitsOf({ sessions = {}, limits = {} }: ConsoleConfig): ConsoleLimits {
  return {
    sessions: {
      ...(sessions.idleMinutes !== undefined && { idle: sessions.idleMinutes * minute }),
      ...(sessions.maxAgeMinutes !== undefined && { age: sessions.maxAgeMinutes * minute }),
      ...(sessions.maximum !== undefined && { sessions: sessions.maximum }),
      ...(sessions.perUser !== undefined && { perUser: sessions.perUser }),
    },
    relay: { ...(limits.bodyBytes !== undefined && { body: limits.bodyBytes }) },
    ...(limits.socketsPerSession !== undefined && { socketsPerSession: limits.socketsPerSession }),
    ...((limits.connections !== undefined || limits.connectionsPerAddress !== undefined) && {
      connections: { overall: limits.connections ?? 10_000, perAddress: limits.connectionsPerAddress ?? 512 },
    }),
  };
}
