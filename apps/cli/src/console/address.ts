import { dirname } from 'node:path';
import { type Connection, kubeconfigPaths } from '@capstan/client';
import { isLoopback } from '@capstan/serving';
import { Failure } from '../failure.ts';
import { readStatus, type UpStatus } from '../supervise/status-file.ts';

const portsAbove = 2;
/** Addresses that mean every address of a machine. */
const everywhere = new Set(['0.0.0.0', '[::]']);

export interface AddressFlags {
  readonly url?: string;
  readonly kubeconfig?: string;
}

/**
 * Where the console is: at the given address; else where the "capstan up" to whose data directory the kubeconfig belongs says; else beside the API server, over https. A token
 * is never sent to a port of this machine that is only a guess: any program of anybody could listen there.
 */
export function consoleAddress(flags: AddressFlags, { server }: Pick<Connection, 'server'>): string {
  if (flags.url !== undefined) return givenAddress(flags.url);
  for (const path of flags.kubeconfig === undefined ? kubeconfigPaths() : [flags.kubeconfig]) {
    const found = runningAddress(readStatus(dirname(path)), server);
    if (found !== undefined) return found;
  }
  const { hostname, port } = new URL(server);
  if (isLoopback(hostname.replaceAll(/[[\]]/g, '')))
    throw new Failure('notRunning', 'no console runs beside this kubeconfig. Start it with "capstan up", or name its address with --url.');
  return `https://${hostname}:${Number(port === '' ? 443 : port) + portsAbove}`;
}

/** The address of the console of a running `capstan up` whose API server is reached at `server`; undefined if it is not ready. */
export function runningAddress(status: UpStatus | undefined, server: string): string | undefined {
  const { current } = status?.processes.find(({ name }) => name === 'console') ?? {};
  if (current?.phase !== 'ready') return undefined;
  const { name, host, port } = current.ports[0]!;
  return reachableAddress(`${name}://${host.includes(':') ? `[${host}]` : host}:${port}`, server);
}

/** A process that listens on every address of its machine is reached where the API server beside it is. */
export function reachableAddress(address: string, server: string): string {
  const url = new URL(address);
  if (everywhere.has(url.hostname)) url.hostname = new URL(server).hostname;
  return url.origin;
}

function givenAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.pathname !== '/')
    throw new Failure(
      'usage',
      `--url: expected the address of a console such as https://console.example.com, found ${JSON.stringify(text)}.`,
    );
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replaceAll(/[[\]]/g, '')))
    throw new Failure('usage', '--url: expected https: your token would cross the network in plain text.');
  return url.origin;
}
