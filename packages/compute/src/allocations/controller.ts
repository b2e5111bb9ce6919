import { randomUUID } from 'node:crypto';
import { acrossEndpoints, done, type Endpoints, type Runnable, requeueAfter, WorkLoop } from '@capstan/controller';
import { FleetCopy } from './fleet-copy.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';
import { Tenants } from './tenants.ts';

const name = 'allocations';
const minute = 60_000;

const defaults: SchedulerOptions = {
  rules: { holdAfter: 10 * minute, holdFor: 60 * minute, mostHolds: 8 },
  explainEvery: 5_000,
  newAttempt: randomUUID,
  now: Date.now,
};

/** One scheduler for the allocations of all tenants. It runs in root:platform. */
export function allocations(tenants: Endpoints, options: Partial<SchedulerOptions> = {}): Runnable {
  return {
    name,
    async run(context) {
      FleetCopy.prepare(context.informers);
      await context.informers.synced(context.signal);
      using loop = new WorkLoop<'pass'>(context, { name, keyOf: (pass) => pass, objectOf: (pass) => ({ name: pass }) });
      const again = (): void => loop.queue.add('pass');
      using fleet = new FleetCopy(context.informers, again);
      const all = new Tenants(again);
      const scheduler = new Scheduler(context, { fleet, tenants: all, options: { ...defaults, ...options } });
      await Promise.all([
        acrossEndpoints(tenants, all.follower(name)).run(context),
        loop.run(async () => {
          const wait = await scheduler.pass();
          return wait === undefined ? done : requeueAfter(wait);
        }),
      ]);
    },
  };
}
