import type { KubeObject, LabelSelector } from '@capstan/machinery';
import { type Condition, holds, lacks, type NewCondition, withConditions } from '../../kcp-conditions.ts';

/** What tells where a view is. */
export interface Slice extends KubeObject {
  spec?: { readonly partition?: string };
  status?: { endpoints?: readonly { readonly url: string }[]; shardSelector?: string; conditions?: readonly Condition[] };
}

/** What an endpoint slice is made from. */
export interface SliceFacts {
  /** Whether what the slice refers to is there. */
  readonly reference: NewCondition;
  /** The path of the view; undefined while nobody is bound: there is nothing to see before. */
  readonly view: string | undefined;
  /** The base of views, and the labels of the shard that serves them. */
  readonly shard: { readonly url: string; readonly labels: Readonly<Record<string, string>> } | undefined;
  /** Which shards the slice is about: those of the partition that it names. Undefined when there is no such partition. */
  readonly partition: LabelSelector | undefined;
}

/** The slice with the status that it should have; itself when it has. */
export function withEndpoints<T extends Slice>(slice: T, facts: SliceFacts, now: Date): T {
  const conditions = withConditions(slice.status?.conditions, conditionsOf(slice, facts), now);
  const endpoints = endpointsOf(facts);
  const shardSelector = facts.partition?.toString() ?? '';
  const { status = {} } = slice;
  const isSame =
    conditions === status.conditions &&
    (status.shardSelector ?? '') === shardSelector &&
    JSON.stringify(status.endpoints ?? []) === JSON.stringify(endpoints);
  if (isSame) return slice;
  return { ...slice, status: { conditions, ...(endpoints.length > 0 && { endpoints }), ...(shardSelector !== '' && { shardSelector }) } };
}

function conditionsOf({ spec }: Slice, { reference, partition }: SliceFacts): NewCondition[] {
  if (reference.status !== 'True') return [reference];
  if (partition !== undefined) return [reference, holds('PartitionValid')];
  const message = `partition.topology.kcp.io "${spec?.partition}" not found`;
  return [reference, lacks('PartitionValid', { reason: 'PartitionInvalidReference', message })];
}

function endpointsOf({ reference, view, shard, partition }: SliceFacts): { url: string }[] {
  if (reference.status !== 'True' || view === undefined || shard === undefined || partition === undefined) return [];
  return partition.matches(shard.labels) ? [{ url: shard.url.replace(/\/+$/, '') + view }] : [];
}
