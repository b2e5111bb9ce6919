import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection as Address } from '@capstan/testbed';
import { ask, mustAsk } from '../client/ask.ts';

export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** In a namespace that every server has: deleting the definition deletes all its resources. */
export function resourcesPath(group: string, plural: string): string {
  return `/apis/${group}/v1/namespaces/default/${plural}`;
}

/** Waits until a definition is served: a server may answer 404 for a while after its creation. */
export async function waitUntilServed(address: Address, path: string, timeout = 120_000): Promise<void> {
  await poll(path, timeout, async () => (await ask(address, { method: 'GET', path: `${path}?limit=1` })).status === 200);
}

/** Deletes a definition and waits until its resources are deleted. */
export async function removeDefinition(address: Address, name: string, timeout = 120_000): Promise<void> {
  const path = `${definitionsPath}/${name}`;
  await mustAsk(address, { method: 'DELETE', path });
  await poll(`the end of ${name}`, timeout, async () => (await ask(address, { method: 'GET', path })).status === 404);
}

async function poll(what: string, timeout: number, done: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + timeout;
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`waited ${timeout} ms for ${what} in vain; see the server's log`);
    await sleep(25);
  }
}
