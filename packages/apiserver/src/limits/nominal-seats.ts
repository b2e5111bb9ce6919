import { rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { GroupResource, KubeObject } from '@capstan/machinery';

const priorityLevels: GroupResource = { group: 'flowcontrol.apiserver.k8s.io', resource: 'prioritylevelconfigurations' };

interface LevelSpec {
  readonly type?: string;
  readonly limited?: { readonly nominalConcurrencyShares?: number };
  readonly exempt?: { readonly nominalConcurrencyShares?: number };
}

/** The number of places that each priority level gets from its shares, computed as in Kubernetes. */
export function nominalSeats(objects: ObjectReader, places: number): Map<string, number> {
  const shares = new Map(objects.list(priorityLevels, rootCluster).map((level) => [level.metadata.name ?? '', sharesOf(level)]));
  const all = [...shares.values()].reduce((sum, one) => sum + one, 0);
  return new Map(
    [...shares].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, Math.ceil((places * one) / Math.max(all, 1))]),
  );
}

function sharesOf(level: KubeObject): number {
  const { type, limited, exempt } = level['spec'] as LevelSpec;
  return type === 'Exempt' ? (exempt?.nominalConcurrencyShares ?? 0) : (limited?.nominalConcurrencyShares ?? 30);
}
