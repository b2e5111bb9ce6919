import { setTimeout as sleep } from 'node:timers/promises';
import { residentMegabytes } from '../measure/memory.ts';
import { fill } from './fill.ts';
import { freshNamespace, type Profile } from './profile.ts';

/** The memory of the server and its store with many objects. */
export const memory: Profile = async (subject, amounts) => {
  const count = amounts.count ?? 30_000;
  await fill(subject, freshNamespace(), { count, size: 1_500 });
  await sleep(3_000);
  return [
    { what: `memory with ${count} objects of 1.5 KB`, value: residentMegabytes(subject.pids) ?? Number.NaN, unit: 'MB', better: 'lower' },
  ];
};

/** The current memory of the server and its store. */
export const rest: Profile = async (subject) => {
  await sleep(2_000);
  return [{ what: 'memory at rest', value: residentMegabytes(subject.pids) ?? Number.NaN, unit: 'MB', better: 'lower' }];
};
