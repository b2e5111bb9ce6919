import { createHash } from 'node:crypto';
import { holds, type KcpCondition, type Partition, type PartitionSet, partitionSetKind, withConditions } from '@capstan/api';
import { done, type Result } from '@capstan/controller';
import { everything, type KubeObject, type LabelSelectorObject, selectorOfObject } from '@capstan/machinery';

/** The length of names that the server generates, and of their random ending. */
const longestName = 63;
const ending = 5;

export interface PartitionSetActions {
  readonly shards: () => readonly KubeObject[];
  /** The partitions that the set controls. */
  readonly partitionsOf: (set: PartitionSet) => readonly Partition[];
  readonly remove: (name: string) => Promise<unknown>;
  readonly create: (partition: Partition) => Promise<unknown>;
  readonly updateStatus: (set: PartitionSet) => Promise<unknown>;
  readonly now: () => Date;
}

/** Deletes the partitions of a set that are no longer wanted, creates those that are missing, and reports their number. */
export async function reconcilePartitionSet(set: PartitionSet | undefined, actions: PartitionSetActions): Promise<Result> {
  if (set === undefined || set.metadata.deletionTimestamp !== undefined) return done;
  const wanted = wantedPartitions(set, actions.shards());
  const missing = new Set(wanted.map(({ metadata }) => metadata.name));
  for (const { metadata } of actions.partitionsOf(set)) {
    if (!missing.has(metadata.name)) await actions.remove(metadata.name!);
    missing.delete(metadata.name);
  }
  for (const partition of wanted) if (missing.has(partition.metadata.name)) await actions.create(partition);
  const changed = withOutcome(set, wanted.length, actions.now());
  if (changed !== undefined) await actions.updateStatus(changed);
  return done;
}

/** The partitions that a set should have: one for every combination of its labels that some shard has. */
export function wantedPartitions(set: PartitionSet, shards: readonly KubeObject[]): Partition[] {
  const { shardSelector, dimensions = [] } = set.spec ?? {};
  const selector = shardSelector === undefined ? everything : selectorOfObject(shardSelector);
  const own = [...new Set(dimensions)].sort();
  const labels = [...new Set([...own, ...Object.keys(shardSelector?.matchLabels ?? {})])].sort();
  if (labels.length === 0) return [];
  const found = new Map<string, Partition>();
  for (const { metadata } of shards) {
    const has = metadata.labels ?? {};
    if (!selector.matches(has) || !labels.every((label) => Object.hasOwn(has, label))) continue;
    const matchLabels = Object.fromEntries(labels.map((label) => [label, has[label]!]));
    const partition = partitionOf(set, matchLabels, own);
    found.set(partition.metadata.name!, partition);
  }
  return [...found.values()];
}

/** The set with the status that it should have; undefined if it has it already. */
export function withOutcome(set: PartitionSet, count: number, now: Date): PartitionSet | undefined {
  const conditions = withConditions(set.status?.conditions, [holds('PartitionSetValid'), holds('PartitionsReady')], now);
  if (conditions === set.status?.conditions && (set.status.count ?? 0) === count) return undefined;
  return { ...set, status: { ...set.status, count, conditions: conditions as KcpCondition[] } };
}

function partitionOf(set: PartitionSet, matchLabels: Record<string, string>, dimensions: readonly string[]): Partition {
  const { name = '', uid = '' } = set.metadata;
  const { matchExpressions = [] } = set.spec?.shardSelector ?? {};
  const selector: LabelSelectorObject = { matchLabels, ...(matchExpressions.length > 0 && { matchExpressions }) };
  const { group, version, kind } = partitionSetKind;
  const apiVersion = `${group}/${version}`;
  return {
    apiVersion,
    kind: 'Partition',
    metadata: {
      name: nameOf([name, ...dimensions.map((label) => matchLabels[label]!.toLowerCase())], selector),
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: { selector },
  };
}

/** Readable, and different for every selector. */
function nameOf(words: readonly string[], selector: LabelSelectorObject): string {
  const digest = createHash('sha256').update(JSON.stringify(selector)).digest('hex');
  // Label values may contain characters that names may not.
  const readable = `${words.join('-')}-`.replaceAll('_', '-').slice(0, longestName - ending);
  return `${readable}${digest.slice(0, ending)}`;
}
