import { type KcpCondition, lacks, type PurgedWorkspace } from '@capstan/api';
import { waitByAge } from '@capstan/controller';

/** Reports what the deletion of a workspace waits for. */
export function remaining({ resources, finalizers }: PurgedWorkspace['remains']): Omit<KcpCondition, 'lastTransitionTime'> {
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

/** A tenant can have any number of them, and a condition with all of them could be too large to store. */
const mostNamed = 50;

function sentence(start: string, counts: Readonly<Record<string, number>>, text: (name: string, count: number) => string): string[] {
  const names = Object.keys(counts).sort();
  if (names.length === 0) return [];
  const named = names.slice(0, mostNamed).map((name) => text(name, counts[name]!));
  if (names.length > mostNamed) named.push(`and ${names.length - mostNamed} more`);
  return [start + named.join(', ')];
}

/** In milliseconds: how long to wait before looking again at a workspace that has been pending since then. */
export function waitFor(since: string | undefined, now: Date): number {
  return waitByAge(since, { now, min: 100, max: 10_000 });
}
