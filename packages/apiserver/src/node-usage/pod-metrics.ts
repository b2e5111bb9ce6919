import { type UnitUsage, unitContainer, unitLabel } from '@capstan/api';
import { type JsonObject, type KubeObject, status } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { nodeNameOf } from '../connect/target.ts';
import type { ComputedKind } from '../handlers/virtual.ts';
import type { RequestContext } from '../registry/context.ts';
import { list } from '../registry/list.ts';
import type { Resource } from '../registry/resource.ts';
import type { NodeReader } from './node-reader.ts';

export interface PodMetricsOptions {
  readonly cache: WatchCache;
  /** The kind whose objects have metrics. */
  readonly pods: Resource;
  readonly usage: Pick<NodeReader<readonly UnitUsage[]>, 'read'>;
}

/**
 * Serves PodMetrics of the pods that show units. The node of a pod is asked, and believed only about the units of that pod's workspace, namespace and name, so a node cannot
 * report numbers for units of others. Pods without numbers are left out, as metrics-server does.
 */
export function podMetrics({ cache, pods, usage }: PodMetricsOptions): ComputedKind {
  const metricsOf = async (entry: CacheEntry, { cluster }: RequestContext): Promise<JsonObject[]> => {
    if (entry.labels[unitLabel] === undefined) return [];
    const pod = entry.parse();
    const node = nodeNameOf(pod);
    if (node === '') return [];
    const { name = '', namespace = '', ownerReferences = [] } = pod.metadata;
    const found = (await usage.read(node))?.find(
      ({ owner }) =>
        owner.cluster === cluster &&
        owner.namespace === namespace &&
        owner.name === name &&
        ownerReferences.some(({ uid }) => uid === owner.uid),
    );
    return found === undefined ? [] : [describe(pod, found)];
  };
  return async (context) => {
    const { entries, meta } = await list(cache, pods, context.info, { pace: context.pace() });
    const items = (await Promise.all(entries.map((entry) => metricsOf(entry, context)))).flat();
    if (context.info.verb === 'list')
      return { kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', metadata: JSON.parse(meta), items } as unknown as KubeObject;
    const [item] = items;
    if (item === undefined) throw status.notFound({ group: 'metrics.k8s.io', resource: 'pods' }, context.info.name);
    return item as unknown as KubeObject;
  };
}

function describe(
  { metadata: { name, namespace, labels } }: KubeObject,
  { at, window, cpuMillis, memoryBytes, gpus }: UnitUsage,
): JsonObject {
  const timestamp = secondsOf(at);
  return {
    kind: 'PodMetrics',
    apiVersion: 'metrics.k8s.io/v1beta1',
    metadata: { name: name!, namespace: namespace!, creationTimestamp: timestamp, ...(labels && { labels }) },
    timestamp,
    window: `${Math.max(1, Math.round(window / 1_000))}s`,
    containers: [{ name: unitContainer, usage: { cpu: `${cpuMillis}m`, memory: `${Math.ceil(memoryBytes / 1024)}Ki` } }],
    // Not part of Kubernetes' kind. Its clients ignore it.
    gpus: gpus as unknown as JsonObject[],
  };
}

const secondsOf = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
