import { readFileSync } from 'node:fs';
import { settleMemory } from '@capstan/apiserver/settle';
import type { Connection } from '@capstan/client';
import { explain, Failure, type StartContext } from '../failure.ts';
import { type LogFormat, processLog } from '../log.ts';
import { announceReady } from '../supervise/description.ts';
import { withCurrentAuthority } from './kubeconfig.ts';
import { shutdownSignal } from './shutdown.ts';

interface Frame<S> {
  /** Name of the process. */
  readonly name: string;
  /** The section of the configuration file that is about it. */
  readonly section: string;
  readonly settings: S;
  readonly logFormat: LogFormat | undefined;
}

/** A run of a server, until its signal is aborted. */
export interface Run<S> {
  readonly settings: S;
  readonly connection: Connection;
  readonly write: (line: string) => void;
}

type Serve<S> = (run: Run<S>, signal: AbortSignal) => Promise<void>;

/** Runs a server in front of the API server in this process until a signal stops it. */
export async function runServer<S extends StartContext & { readonly kubeconfigPath: string }>(
  { name, section, settings, logFormat = 'text' }: Frame<S>,
  serve: Serve<S>,
): Promise<void> {
  const signal = shutdownSignal();
  const write = processLog({ process: name, format: logFormat });
  settleMemory(signal);
  try {
    await withCurrentAuthority({ path: settings.kubeconfigPath, processName: name }, signal, (connection, stop) =>
      serve({ settings, connection, write }, stop),
    );
  } catch (error) {
    throw explain(error, { ...settings, portSetting: `${section}.listen.port` });
  }
  if (process.connected) process.disconnect();
}

interface Listening {
  readonly host: string;
  readonly health: { readonly host: string };
  readonly tls: object | undefined;
  readonly kubeconfigPath: string;
}

/** Tells the supervisor where the server listens. Returns its address. */
export function announceServer(
  { host, health, tls, kubeconfigPath }: Listening,
  { port, healthPort }: { readonly port: number; readonly healthPort: number },
): string {
  const scheme = tls === undefined ? 'http' : 'https';
  const url = addressOf(scheme, host, port);
  announceReady({
    url,
    kubeconfigPath,
    ports: [
      { name: scheme, host, port },
      { name: 'health', host: health.host, port: healthPort },
    ],
    health: { url: `${addressOf('http', health.host, healthPort)}/readyz` },
  });
  return url;
}

/** A file that the configuration names, such as a certificate. */
export function readSetting(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Failure('usage', `${path}: cannot be read: ${(error as Error).message}. Correct its path in the configuration file.`, error);
  }
}

function addressOf(scheme: string, host: string, port: number): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => signal.addEventListener('abort', () => done(), { once: true }));
}
