import { existsSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, type Credentials, connectionOf, loadKubeconfig } from '@capstan/client';
import { Failure } from '../failure.ts';

const lookEvery = 60_000;

/** The connection that a kubeconfig describes. A replaced file, such as one with a renewed certificate, takes effect without a restart. */
export function readConnection(path: string, processName: string, now: () => number = Date.now): Connection {
  if (!existsSync(path)) {
    throw new Failure(
      'usage',
      `${path} does not exist. Start the API server first, or name a kubeconfig with --kubeconfig. An API server without pki/ca.key can write it only if pki/${processName}.crt and pki/${processName}.key exist.`,
    );
  }
  try {
    const connection = connectionOf(loadKubeconfig({ path }));
    return { ...connection, credentials: renewedCredentials(path, connection.credentials, now) };
  } catch (error) {
    throw new Failure('usage', `${path} cannot be used: ${(error as Error).message}`, error);
  }
}

function renewedCredentials(path: string, first: Credentials, now: () => number): Credentials {
  let held = first;
  let changedAt = changeOf(path);
  let lookAt = now() + lookEvery;
  return {
    current() {
      const at = now();
      if (at >= lookAt) {
        lookAt = at + lookEvery;
        const change = changeOf(path);
        if (change !== undefined && change !== changedAt) {
          try {
            held = connectionOf(loadKubeconfig({ path })).credentials;
            changedAt = change;
          } catch {
            // The file is being written, or is broken: keep using the current credentials, which may still work, and read it again next
            // time.
          }
        }
      }
      return held.current();
    },
    refused(credential) {
      lookAt = 0;
      held.refused?.(credential);
    },
  };
}

const followEvery = 2_000;

/**
 * Calls `run` with the connection that a kubeconfig describes, and again with the new one when the file names other authorities: controllers hand them
 * on. `run` ends when its signal aborts.
 */
export async function withCurrentAuthority(
  { path, processName, every = followEvery }: { readonly path: string; readonly processName: string; readonly every?: number },
  signal: AbortSignal,
  run: (connection: Connection, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const connection = readConnection(path, processName);
    const other = new AbortController();
    const stop = AbortSignal.any([signal, other.signal]);
    const change = authorityChange({ path, connection, every }, stop).then(() => other.abort());
    try {
      await run(connection, stop);
      // It ended on its own.
      if (!stop.aborted) return;
    } finally {
      other.abort();
      await change;
    }
  }
}

async function authorityChange(
  { path, connection, every }: { readonly path: string; readonly connection: Connection; readonly every: number },
  signal: AbortSignal,
): Promise<void> {
  let seen = changeOf(path);
  while (!signal.aborted) {
    await sleep(every, undefined, { signal, ref: false }).catch(() => {});
    const change = changeOf(path);
    if (change === undefined || change === seen) continue;
    try {
      if (connectionOf(loadKubeconfig({ path })).ca?.toString() !== connection.ca?.toString()) return;
      seen = change;
    } catch {
      // Half a file: read it again.
    }
  }
}

function changeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
