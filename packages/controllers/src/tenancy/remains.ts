import { type Condition, lacks } from '../kcp-conditions.ts';
import type { Purged } from './kinds.ts';

/** Says what a workspace's end waits for. */
export function remaining({ resources, finalizers }: Purged['remains']): Omit<Condition, 'lastTransitionTime'> {
  const parts = [
    ...sentence('Some resources are remaining: ', resources, (kind, count) => `${kind} has ${count} resource instances`),
    ...sentence(
      'Some content in the logical cluster has finalizers remaining: ',
      finalizers,
      (name, count) => `${name} in ${count} resource instances`,
    ),
  ];
  return lacks('WorkspaceContentDeleted', {
    severity: 'Info',
    reason: 'SomeResourcesRemain',
    message: parts.join('; ') || 'Some content was written while the workspace was emptied',
  });
}

/** A tenant can have any number of them: a condition that says them all cannot be written. */
const mostNamed = 50;

function sentence(start: string, counts: Readonly<Record<string, number>>, text: (name: string, count: number) => string): string[] {
  const names = Object.keys(counts).sort();
  if (names.length === 0) return [];
  const named = names.slice(0, mostNamed).map((name) => text(name, counts[name]!));
  if (names.length > mostNamed) named.push(`and ${names.length - mostNamed} more`);
  return [start + named.join(', ')];
}

/** What has taken long will take long: the looks become rarer with the age of what is waited for. */
export function waitFor(since: string | undefined, now: Date): number {
  const age = now.getTime() - Date.parse(since ?? now.toISOString());
  return Math.min(10_000, Math.max(100, age / 5));
}
