import { type Condition, setCondition } from '@capstan/controller';
import type { Remains } from './content.ts';

/** The state of a namespace's content. */
export interface Findings {
  /** Why discovery failed; undefined if it did not. */
  readonly discoveryFailure: string | undefined;
  /** One message for each type that could not be emptied. */
  readonly failures: readonly string[];
  readonly remains: readonly Remains[];
}

type Fresh = Omit<Condition, 'lastTransitionTime'>;

/** The conditions of a namespace that is being deleted, in the words of Kubernetes, which people and tools know. */
export function withFindings(conditions: readonly Condition[] | undefined, findings: Findings, now: Date): readonly Condition[] {
  return [discovered(findings), parsed, deleted(findings), removed(findings), finalized(findings)].reduce<readonly Condition[]>(
    (list, condition) => setCondition(list, condition, now),
    conditions ?? [],
  );
}

function discovered({ discoveryFailure }: Findings): Fresh {
  const type = 'NamespaceDeletionDiscoveryFailure';
  return discoveryFailure === undefined
    ? { type, status: 'False', reason: 'ResourcesDiscovered', message: 'All resources successfully discovered' }
    : { type, status: 'True', reason: 'DiscoveryFailed', message: discoveryFailure };
}

/** Parsing is part of discovery here, so it cannot fail separately. Clients expect the condition nevertheless. */
const parsed: Fresh = {
  type: 'NamespaceDeletionGroupVersionParsingFailure',
  status: 'False',
  reason: 'ParsedGroupVersions',
  message: 'All legacy kube types successfully parsed',
};

function deleted({ failures }: Findings): Fresh {
  const type = 'NamespaceDeletionContentFailure';
  if (failures.length === 0) {
    const message = 'All content successfully deleted, may be waiting on finalization';
    return { type, status: 'False', reason: 'ContentDeleted', message };
  }
  const message = `Failed to delete all resource types, ${failures.length} remaining: ${sorted(failures).join(', ')}`;
  return { type, status: 'True', reason: 'ContentDeletionFailed', message };
}

function removed({ remains }: Findings): Fresh {
  const type = 'NamespaceContentRemaining';
  if (remains.length === 0) return { type, status: 'False', reason: 'ContentRemoved', message: 'All content successfully removed' };
  const each = remains.map(({ type: { resource, group }, count }) => `${resource}.${group} has ${count} resource instances`);
  return {
    type,
    status: 'True',
    reason: 'SomeResourcesRemain',
    message: `Some resources are remaining: ${limited(sorted(each)).join(', ')}`,
  };
}

function finalized({ remains }: Findings): Fresh {
  const type = 'NamespaceFinalizersRemaining';
  const counts = new Map<string, number>();
  for (const { finalizers } of remains) {
    for (const [finalizer, count] of finalizers) counts.set(finalizer, (counts.get(finalizer) ?? 0) + count);
  }
  if (counts.size === 0) {
    return { type, status: 'False', reason: 'ContentHasNoFinalizers', message: 'All content-preserving finalizers finished' };
  }
  const each = limited(sorted([...counts].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`)));
  const message = `Some content in the namespace has finalizers remaining: ${each.join(', ')}`;
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message };
}

function sorted(texts: readonly string[]): string[] {
  return [...texts].sort();
}

/** Objects can have any number of finalizers, and a condition with all of them could be too large to store. */
const mostNamed = 200;

function limited(texts: readonly string[]): readonly string[] {
  return texts.length <= mostNamed ? texts : [...texts.slice(0, mostNamed), `and ${texts.length - mostNamed} more`];
}
