import { holds, type KcpCondition, lacks, type NewCondition, withConditions } from '@capstan/api';
import { type KubeObject, type LabelSelector, sameJson } from '@capstan/machinery';

/** An object that publishes the URL of a view. */
export interface Slice extends KubeObject {
  spec?: { readonly partition?: string };
  status?: { endpoints?: readonly { readonly url: string }[]; shardSelector?: string; conditions?: readonly KcpCondition[] };
}

/** The facts that the status of a slice follows from. */
export interface SliceFacts {
  /** Whether the object that the slice refers to exists. */
  readonly reference: NewCondition;
  /** The path of the view; undefined while nobody is bound, since the view is empty until then. */
  readonly view: string | undefined;
  /** The base URL of views, and the labels of the shard that serves them. */
  readonly shard: { readonly url: string; readonly labels: Readonly<Record<string, string>> } | undefined;
  /** Selects the shards of the partition that the slice names; undefined if that does not exist. */
  readonly partition: LabelSelector | undefined;
}

/** The slice with the status that it should have; the same object if it has it already. */
export function withEndpoints<T extends Slice>(slice: T, facts: SliceFacts, now: Date): T {
  const conditions = withConditions(slice.status?.conditions, conditionsOf(slice, facts), now);
  const endpoints = endpointsOf(facts);
  const shardSelector = facts.partition?.toString() ?? '';
  const { status = {} } = slice;
  const isSame =
    conditions === status.conditions && (status.shardSelector ?? '') === shardSelector && sameJson(status.endpoints ?? [], endpoints);
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
