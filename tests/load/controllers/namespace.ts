import { setTimeout as sleep } from 'node:timers/promises';
import {
  type RunningApiServer,
  readConnection,
  type StoreDriver,
  startCapstan,
  startControllerManager,
  startKubeApiserver,
  startKubeControllerManager,
} from '@capstan/testbed';
import { ask, mustAsk } from '../client/ask.ts';
import { fill } from '../profiles/fill.ts';
import { freshNamespace, type Measurement } from '../profiles/profile.ts';
import type { Pair } from './rows.ts';

const objectSize = 1_000;
const pollEvery = 25;
const longest = 600_000;

/**
 * The time from deleting a full namespace until it no longer exists: each side with its own server and controllers, one after the other.
 */
export async function namespaceRow(store: StoreDriver, count: number): Promise<Pair> {
  const row = (value: number): Measurement => ({
    what: `deletion of a namespace with ${count} objects`,
    value,
    unit: 's',
    better: 'lower',
  });
  return { kubernetes: row(await onKubernetes(count)), capstan: row(await onCapstan(store, count)) };
}

async function onKubernetes(count: number): Promise<number> {
  await using server = await startKubeApiserver();
  await using _manager = await startKubeControllerManager(server);
  // Awaited here, because the disposal at the end of this function must come after it.
  return await deletionSeconds(server, count);
}

async function onCapstan(store: StoreDriver, count: number): Promise<number> {
  await using server = await startCapstan({ store });
  await using _manager = await startControllerManager(server);
  // Awaited here, because the disposal at the end of this function must come after it.
  return await deletionSeconds(server, count);
}

async function deletionSeconds(server: RunningApiServer, count: number): Promise<number> {
  const address = readConnection(server.kubeconfig);
  const namespace = freshNamespace();
  await fill({ name: server.url, address, pids: server.pids }, namespace, { count, size: objectSize });
  // Let the server settle after so many writes, which are not measured here.
  await sleep(5_000);
  const path = `/api/v1/namespaces/${namespace}`;
  const began = performance.now();
  await mustAsk(address, { method: 'DELETE', path });
  while ((await ask(address, { method: 'GET', path })).status !== 404) {
    if (performance.now() - began > longest) throw new Error(`${server.url}: ${namespace} still exists after ${longest} ms`);
    await sleep(pollEvery);
  }
  const seconds = (performance.now() - began) / 1000;
  process.stderr.write(`  ${server.url}: ${seconds.toFixed(2)} s\n`);
  return seconds;
}
