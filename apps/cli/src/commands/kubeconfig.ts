import { existsSync, statSync } from 'node:fs';
import { type Connection, type Credentials, connectionOf, loadKubeconfig } from '@capstan/client';
import { Failure } from '../failure.ts';

const lookEvery = 60_000;

/** The connection that a kubeconfig describes. Who replaces the file, with a renewed certificate, is heard without a restart. */
export function readConnection(path: string, now: () => number = Date.now): Connection {
  if (!existsSync(path)) {
    throw new Failure(
      'usage',
      `${path} is not there. Start the API server first, or name a kubeconfig with --kubeconfig. An API server without pki/ca.key can write it only when pki/controller-manager.crt and pki/controller-manager.key are there.`,
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
            // It is being written, or broken: what is at hand may still do, and the next look may find better.
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

function changeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
