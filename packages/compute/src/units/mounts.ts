import { type GPUStorage, type GPUUnit, localClass, type SharedDirectory, storageSource, usableVolumePhases } from '@capstan/api';
import { clusterOf, formatKey, type Informer, type ObjectKey } from '@capstan/client';

const byMount = 'mount';

/** The reason of a storage or an order that would exceed a limit. */
export const quotaExceeded = 'QuotaExceeded';

/** The informer, with an index of the storages that units mount. */
export function unitsMounting(units: Informer<GPUUnit>): Informer<GPUUnit> {
  units.addIndex(byMount, (unit) => mountKeys(unit).map(formatKey));
  return units;
}

export const mountingUnits = (units: Informer<GPUUnit>, key: ObjectKey): GPUUnit[] => units.byIndex(byMount, formatKey(key));

/** The storages that a unit mounts. */
export function mountKeys(unit: GPUUnit): ObjectKey[] {
  const cluster = clusterOf(unit);
  return storageNames(unit).map((name) => ({ ...(cluster !== undefined && { cluster }), namespace: unit.metadata.namespace, name }));
}

export function storageNames({ spec }: GPUUnit): string[] {
  return [...new Set((spec.mounts ?? []).map(({ storage }) => storage))];
}

/** How far the storages of a unit are. */
export type Mounts =
  /** They are ready on this node, or on none yet. */
  | {
      readonly kind: 'ready';
      readonly node: string | undefined;
      readonly unbound: readonly string[];
      /** Shared directories that its nodes need. */
      readonly directories: readonly SharedDirectory[];
    }
  | { readonly kind: 'waiting'; readonly message: string }
  /** Only somebody's help ends this. */
  | { readonly kind: 'failed'; readonly message: string };

export function mountsOf(unit: GPUUnit, storage: (name: string) => GPUStorage | undefined): Mounts {
  const names = storageNames(unit);
  let bound: { readonly node: string; readonly name: string } | undefined;
  const unbound: string[] = [];
  const directories = new Map<string, SharedDirectory & { readonly storage: string }>();
  for (const name of names) {
    const found = storage(name);
    if (found === undefined) return { kind: 'waiting', message: `spec.mounts: there is no GPUStorage ${name} in this namespace` };
    if (found.metadata.deletionTimestamp !== undefined) return { kind: 'waiting', message: `the storage ${name} is being deleted` };
    if (found.spec.snapshotOf !== undefined && unit.spec.mounts!.some((one) => one.storage === name && !one.readOnly))
      return { kind: 'failed', message: `spec.mounts: ${name} is a snapshot, so it is mounted with readOnly` };
    const { node, phase, message } = found.status ?? {};
    const isLocal = found.spec.class === localClass;
    if (isLocal && unit.spec.nodes > 1)
      return {
        kind: 'failed',
        message: `spec.mounts: the storage ${name} is on one node, so units with several nodes cannot mount it; storages in shared directories can be`,
      };
    if (found.status?.conditions?.some(({ type, reason }) => type === 'Ready' && reason === quotaExceeded) === true)
      return { kind: 'failed', message: `waits for the storage ${name}: ${message ?? 'it would exceed a limit'}` };
    if (node === undefined) {
      if (!isLocal || found.spec.node !== undefined || storageSource(found.spec) !== undefined)
        return { kind: 'waiting', message: `waits for the storage ${name}: ${message ?? 'it is new'}` };
      unbound.push(name);
      continue;
    }
    const shared = directoryOf(found);
    const other = shared && directories.get(shared.name);
    if (other !== undefined && other.id !== shared?.id)
      return {
        kind: 'failed',
        message: `spec.mounts: ${other.storage} and ${name} are in different directories of the class ${other.name}`,
      };
    if (shared !== undefined) directories.set(shared.name, { ...shared, storage: name });
    else if (bound !== undefined && bound.node !== node)
      return { kind: 'failed', message: `spec.mounts: the storage ${bound.name} is on ${bound.node}, and ${name} is on ${node}` };
    else bound = { node, name };
    if (usableVolumePhases.has(phase ?? '')) continue;
    return {
      kind: phase === 'Failed' ? 'failed' : 'waiting',
      message: `waits for the storage ${name}: ${message ?? phase ?? 'it is new'}`,
    };
  }
  return { kind: 'ready', node: bound?.node, unbound, directories: [...directories.values()].map(({ name, id }) => ({ name, id })) };
}

/** The shared directory that has a storage; undefined if it is on the disk of a node. */
export function directoryOf({ spec, status }: GPUStorage): SharedDirectory | undefined {
  return spec.class === localClass || status?.directory === undefined ? undefined : { name: spec.class, id: status.directory };
}
