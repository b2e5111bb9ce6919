import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClusterId,
  fleetGroup,
  gpuNodeKind,
  type NodeGpuMetrics,
  type NodeUnit,
  nodeMetricsPath,
  nodeNamespace,
  nodeUnitKind,
  pathAnnotation,
  type UnitUsage,
} from '@capstan/api';
import { metricsType, status } from '@capstan/machinery';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Page } from '../registry/page.ts';
import { logicalClusterOf } from '../workspaces/tree.ts';
import { exposition, type KnownUnit, type NodeNumbers } from './exposition.ts';
import type { NodeReader } from './node-reader.ts';

export interface NodeMetricsPageOptions {
  readonly cache: WatchCache;
  readonly platform: () => ClusterId | undefined;
  readonly usage: Pick<NodeReader<readonly UnitUsage[]>, 'read'>;
  readonly gpus: Pick<NodeReader<readonly NodeGpuMetrics[]>, 'read'>;
  /** How long the metrics are used, and how long nodes may take together, in milliseconds. */
  readonly maxAge?: number | undefined;
  readonly patience?: number;
}

/** `/capstan/metrics/nodes`: the metrics of all nodes, wherever their tunnels are. They are gathered once for all who ask, at most every ten seconds. */
export function nodeMetricsPage({
  cache,
  platform,
  usage,
  gpus,
  maxAge = 10_000,
  patience = 8_000,
}: NodeMetricsPageOptions): readonly [string, Page] {
  const find = (node: string, nodeUnit: string): KnownUnit | undefined => unitOf(cache, `${platform()}/${nodeNamespace(node)}/${nodeUnit}`);
  const gather = async (): Promise<string> => {
    // Nodes that are silent do not hold up the others.
    const late = new AbortController();
    const deadline = sleep(patience, undefined, { signal: late.signal }).catch(() => undefined);
    const numbers = await Promise.all(
      nodesIn(cache, platform()).map(async (node): Promise<NodeNumbers> => {
        const both = Promise.all([gpus.read(node), usage.read(node)]);
        const [ofGpus, ofUnits] = (await Promise.race([both, deadline])) ?? [];
        return { node, gpus: ofGpus, units: ofUnits };
      }),
    );
    late.abort();
    return exposition(numbers, find);
  };
  let held: { until: number; text: Promise<string> } | undefined;
  return [
    nodeMetricsPath,
    async (exchange, { method }) => {
      if (method !== 'GET') throw status.methodNotAllowed();
      if (held === undefined || held.until <= performance.now()) {
        const mine = { until: Number.POSITIVE_INFINITY, text: gather() };
        held = mine;
        void mine.text.finally(() => (mine.until = performance.now() + maxAge)).catch(() => {});
      }
      exchange.send({ code: 200, type: metricsType, body: await held.text });
    },
  ];
}

function nodesIn(cache: WatchCache, platform: ClusterId | undefined): string[] {
  const names: string[] = [];
  if (platform === undefined) return names;
  const { entries } = cache.resource({ group: fleetGroup, resource: `${gpuNodeKind.resource}*` });
  entries.walk(`${platform}//`, `${platform}//\uffff`, ({ key }) => {
    names.push(key.slice(key.lastIndexOf('/') + 1));
    return true;
  });
  return names;
}

function unitOf(cache: WatchCache, key: string): KnownUnit | undefined {
  const entry = cache.resource({ group: fleetGroup, resource: `${nodeUnitKind.resource}*` }).entries.get(key);
  if (entry === undefined) return undefined;
  const { owner } = (entry.parse() as NodeUnit).spec;
  const workspace = logicalClusterOf(cache, owner.cluster as ClusterId)?.metadata.annotations?.[pathAnnotation] ?? owner.cluster;
  return { workspace, namespace: owner.namespace, name: owner.name };
}
