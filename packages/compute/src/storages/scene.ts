import {
  type Allocation,
  type GPUNode,
  type GPUStorage,
  type GPUUnit,
  type NodeVolume,
  nodeNamespace,
  type SharedDirectory,
} from '@capstan/api';
import { isOver } from '../units/scene.ts';

/** Everything that a decision about a storage is made from. */
export interface Scene {
  readonly storage: GPUStorage;
  /** The path of its workspace, if it is known. */
  readonly path: string | undefined;
  /** In milliseconds. */
  readonly now: number;
  /** The units of its namespace that mount it, the oldest first. */
  readonly units: readonly GPUUnit[];
  readonly allocation: (unit: GPUUnit) => Allocation | undefined;
  /** All NodeVolumes of storages with this name in this namespace and workspace. */
  readonly volumes: readonly NodeVolume[];
  readonly node: (name: string) => GPUNode | undefined;
  /** The nodes that can be heard and have shared directories, sorted by their names. */
  readonly sharing: () => readonly Sharing[];
  /** Why its workspace cannot have so many bytes; undefined if it can. With `isNow`, they count from now on. */
  readonly refusal: (bytes: number, isNow: boolean) => string | undefined;
  /** Another storage of the namespace. */
  readonly sibling: (name: string) => GPUStorage | undefined;
  /** Whether the server itself has said that there is no NodeVolume. */
  readonly isAbsent: boolean;
}

/** A shared directory of a node. */
export interface Sharing extends SharedDirectory {
  readonly node: string;
}

/** Units that have the storage mounted, or are about to. */
export function usersOf({ units }: Pick<Scene, 'units'>): GPUUnit[] {
  return units.filter(({ status }) => !isOver(status) && (status?.members ?? []).length > 0);
}

export function volumeOf({ storage, volumes }: Pick<Scene, 'storage' | 'volumes'>): NodeVolume | undefined {
  const { node, volume, directory } = storage.status ?? {};
  // A shared directory may have had another keeper before.
  const here = directory === undefined ? volumes : volumes.filter(({ metadata }) => metadata.namespace === nodeNamespace(node ?? ''));
  return here.find(({ metadata, spec }) => spec.owner.uid === storage.metadata.uid || metadata.name === volume);
}
