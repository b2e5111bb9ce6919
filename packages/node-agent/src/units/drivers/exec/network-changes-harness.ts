import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { IsolatedNetwork, type NetworkOptions } from './network.ts';

/**
 * A program for `network.test.ts`, which runs it in a network namespace that stands for a node. It makes and deletes the network of units at the same
 * time, and prints what there is then. Arguments: a directory, and the folder of programs: an `nft` that writes its first argument to `calls` in the
 * directory, is slow to delete, and waits to make while there is a file `wait`.
 */
const [, , directory, programs] = process.argv;
const [calls, wait] = ['calls', 'wait'].map((name) => join(directory!, name)) as [string, string];
const bridge = 'captest2';

const networkWith = (options: NetworkOptions): IsolatedNetwork => new IsolatedNetwork({ bridge, programs: [programs!], ...options });
const called = (word: string): number =>
  (existsSync(calls) ? readFileSync(calls, 'utf8').split('\n') : []).filter((one) => one === word).length;
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await sleep(5);
};
const state = (): { readonly bridge: boolean; readonly rules: boolean } => ({
  bridge: execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' }).includes(bridge),
  rules: execFileSync(join(programs!, 'nft'), ['list', 'tables'], { encoding: 'utf8' }).includes(bridge),
});

const network = networkWith({});
await network.ensure('first');
network.release('first');
const down = network.tearDown();
await until(() => called('delete') > 0);
await Promise.all([network.ensure('second'), down]);
const afterRace = state();

await network.ensure('warm');
network.release('second');
await network.tearDown();
const withWarm = state();
network.release('warm');
await network.tearDown();
const without = state();

const eager = networkWith({ idle: 0, repairInterval: 1_000 });
await eager.ensure('first');
const made = called('-f');
writeFileSync(wait, '');
await until(() => called('-f') > made);
const known = await eager.ensure('second');
const isRepairing = existsSync(wait);
rmSync(wait);
for (const unit of ['first', 'second']) eager.release(unit);
await until(() => !state().bridge);
await eager[Symbol.asyncDispose]();
const result = {
  afterRace,
  withWarm,
  without,
  duringRepair: { isRepairing, bridge: known.find(([key]) => key === 'bridge')?.[1] },
  left: state(),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
