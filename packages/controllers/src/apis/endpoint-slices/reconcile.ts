import type { LabelSelector } from '@capstan/machinery';
import { holds, lacks, type NewCondition, withConditions } from '../../kcp-conditions.ts';
import type { EndpointSlice } from '../kinds.ts';

/** What an endpoint slice is made from. */
export interface SliceFacts {
  /** The id of the export's workspace; undefined when the export is not there. */
  readonly exportCluster: string | undefined;
  readonly isBound: boolean;
  /** The base of views, and the labels of the shard that serves them. */
  readonly shard: { readonly url: string; readonly labels: Readonly<Record<string, string>> } | undefined;
  /** Which shards the slice is about: those of the partition that it names. Undefined when there is no such partition. */
  readonly partition: LabelSelector | undefined;
}

/** The slice with the status that it should have; itself when it has. */
export function withEndpoints(slice: EndpointSlice, facts: SliceFacts, now: Date): EndpointSlice {
  const conditions = withConditions(slice.status?.conditions, conditionsOf(slice, facts), now);
  const endpoints = endpointsOf(slice, facts);
  const shardSelector = facts.partition?.toString() ?? '';
  const { status = {} } = slice;
  const isSame =
    conditions === status.conditions &&
    (status.shardSelector ?? '') === shardSelector &&
    JSON.stringify(status.endpoints ?? []) === JSON.stringify(endpoints);
  if (isSame) return slice;
  return { ...slice, status: { conditions, ...(endpoints.length > 0 && { endpoints }), ...(shardSelector !== '' && { shardSelector }) } };
}

function conditionsOf({ spec, metadata }: EndpointSlice, { exportCluster, partition }: SliceFacts): NewCondition[] {
  const { path = metadata.annotations?.['kcp.io/cluster'] ?? '', name = '' } = spec?.export ?? {};
  if (exportCluster === undefined)
    return [lacks('APIExportValid', { reason: 'APIExportNotFound', message: `Error getting APIExport ${path}|${name}` })];
  if (partition === undefined) {
    const message = `partition.topology.kcp.io "${spec?.partition}" not found`;
    return [holds('APIExportValid'), lacks('PartitionValid', { reason: 'PartitionInvalidReference', message })];
  }
  return [holds('APIExportValid'), holds('PartitionValid')];
}

/** The view is told of while somebody is bound: there is nothing to see before. */
function endpointsOf({ spec }: EndpointSlice, { exportCluster, isBound, shard, partition }: SliceFacts): { url: string }[] {
  if (exportCluster === undefined || !isBound || shard === undefined || partition === undefined) return [];
  if (!partition.matches(shard.labels)) return [];
  return [{ url: `${shard.url.replace(/\/+$/, '')}/services/apiexport/${exportCluster}/${spec!.export!.name}` }];
}
