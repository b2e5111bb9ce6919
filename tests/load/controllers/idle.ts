import { setTimeout as sleep } from 'node:timers/promises';
import { Child, capstanCommand, freePort, startKubeApiserver, startKubeControllerManager, temporaryDirectory } from '@capstan/testbed';
import { processorSeconds } from '../measure/processor.ts';
import type { Measurement } from '../profiles/profile.ts';
import type { Pair } from './rows.ts';

const settle = 30_000;
const seconds = 60;

/** The cost of both sides without any requests: server, store and controllers, during the same minute. */
export async function idleRow(): Promise<Pair> {
  await using server = await startKubeApiserver();
  await using manager = await startKubeControllerManager(server);
  using directory = temporaryDirectory('idle');
  const args = ['up', '--no-node', '--data-dir', directory.path, '--port', String(await freePort())];
  await using capstan = new Child('capstan up', [capstanCommand, ...args]);
  await capstan.waitUntil('running', () => capstan.output.includes('controllers run against'));
  await sleep(settle);
  const used = (): [number, number] => [processorSeconds([...server.pids, manager.child.pid]), processorSeconds([capstan.pid])];
  const before = used();
  await sleep(seconds * 1000);
  const after = used();
  for (const child of [manager.child, capstan]) if (!child.running) throw new Error(`${child.name} ended while it should have been idle`);
  const row = (index: 0 | 1): Measurement => ({
    what: `idle for ${seconds} s: share of one processor`,
    value: ((after[index] - before[index]) / seconds) * 100,
    unit: '%',
    better: 'lower',
  });
  return { kubernetes: row(0), capstan: row(1) };
}
