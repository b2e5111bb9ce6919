import { randomUUID } from 'node:crypto';
import { type NodeUnit, nodeUnitKind } from '@capstan/api';
import { acrossEndpoints, done, type Endpoints, type Runnable, requeueAfter, WorkLoop } from '@capstan/controller';
import { warmName } from '../stock/mark.ts';
import { Stockroom } from '../stock/stockroom.ts';
import { ledgerAt } from '../usage/ledger-client.ts';
import { systemTime } from '../usage/steady-clock.ts';
import { Usage } from '../usage/usage.ts';
import { FleetCopy } from './fleet-copy.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';
import { Tenants } from './tenants.ts';

const name = 'allocations';
const minute = 60_000;
/** In milliseconds: how long a request to the ledger may take. */
const patience = 10_000;

const defaults: SchedulerOptions = {
  rules: { holdAfter: 10 * minute, holdFor: 60 * minute, mostHolds: 8 },
  explainEvery: 5_000,
  newAttempt: randomUUID,
  now: Date.now,
};

/** One scheduler for the allocations of all tenants. It runs in root:platform. */
export function allocations(tenants: Endpoints, options: Partial<SchedulerOptions> = {}, stockroom = new Stockroom()): Runnable {
  return {
    name,
    async run(context) {
      FleetCopy.prepare(context.informers);
      const nodeUnits = context.informers.informer<NodeUnit>(nodeUnitKind);
      await context.informers.synced(context.signal);
      using loop = new WorkLoop<'pass'>(context, { name, keyOf: (pass) => pass, objectOf: (pass) => ({ name: pass }) });
      let isDue = true;
      const again = (): void => {
        isDue = true;
        loop.queue.add('pass');
      };
      using fleet = new FleetCopy(context.informers, again);
      const all = new Tenants(again);
      const usage = await Usage.start({
        ledger: ledgerAt(context.client),
        time: systemTime,
        signal: () => AbortSignal.any([context.drop, AbortSignal.timeout(patience)]),
        ...(options.now && { now: options.now }),
      });
      const scheduler = new Scheduler(context, {
        fleet,
        tenants: all,
        options: { ...defaults, ...options, now: usage.clock.now, usage },
        stock: {
          isReady: (unit) => nodeUnits.get(warmName(unit))?.status?.phase === 'Warm',
          again: (after = 0) => (after === 0 ? again() : loop.queue.addAfter('pass', after)),
        },
        isDue: () => isDue,
      });
      using _open = stockroom.open(scheduler.shelf);
      using _time = every(minute, () => usage.tick().catch((error: unknown) => context.onError(error, { name: 'usage' })));
      await Promise.all([
        acrossEndpoints(tenants, all.follower(name)).run(context),
        loop.run(async () => {
          isDue = false;
          const wait = await scheduler.pass();
          return wait === undefined ? done : requeueAfter(wait);
        }),
      ]);
    },
  };
}

function every(milliseconds: number, work: () => unknown): Disposable {
  const timer = setInterval(() => void work(), milliseconds);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
