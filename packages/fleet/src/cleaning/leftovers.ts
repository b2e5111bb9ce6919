import type { BookingEntry, NodeTask } from '@capstan/api';
import { taskName } from './task.ts';

/** How many tasks of former allocations are kept on a node, so that people can see what they did. */
const mostKept = 8;

/** Tasks whose entry is free, apart from the latest few. */
export function leftovers(tasks: readonly NodeTask[], entries: readonly Pick<BookingEntry, 'allocation' | 'attempt'>[]): NodeTask[] {
  const needed = new Set(entries.map(taskName));
  const ended = tasks.filter(({ metadata }) => !needed.has(metadata.name ?? '')).sort((one, other) => ageOf(other) - ageOf(one));
  return ended.slice(mostKept);
}

function ageOf({ metadata }: NodeTask): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}
