import { setTimeout as sleep } from 'node:timers/promises';
import type { Manager } from '@capstan/controller';
import { announceReady } from '../supervise/description.ts';

/** Resolves with the health URL of a manager once it is served. */
export async function listening(manager: Manager, host: string): Promise<string> {
  while (manager.healthPort === undefined) await sleep(5, undefined, { ref: false });
  return `http://${host.includes(':') ? `[${host}]` : host}:${manager.healthPort}`;
}

/** Tells the supervisor that a manager serves its health at this URL. */
export function announceManager(url: string, { host, kubeconfigPath }: { readonly host: string; readonly kubeconfigPath: string }): void {
  announceReady({
    url,
    kubeconfigPath,
    ports: [{ name: 'health', host, port: Number(new URL(url).port) }],
    health: { url: `${url}/readyz` },
  });
}
