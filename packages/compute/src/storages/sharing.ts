import { type GPUNode, localClass, storageSource } from '@capstan/api';
import { nodeStateOf } from '../units/nodes.ts';
import type { Scene, Sharing } from './scene.ts';
import type { BoundPlace } from './status.ts';

/** The shared directories of nodes that can be heard, sorted by the names of the nodes. */
export function sharingNodes(nodes: readonly GPUNode[]): Sharing[] {
  return nodes
    .filter((node) => nodeStateOf(node).kind === 'heard')
    .flatMap(({ metadata: { name = '' }, status }) => (status?.sharedDirectories ?? []).map((one) => ({ ...one, node: name })))
    .toSorted((one, other) => (one.node < other.node ? -1 : 1));
}

/**
 * Where a storage of a shared class goes. One node keeps it: it creates, measures and deletes the files. If directories of the same name differ, most of the nodes are
 * right, and the others do not get units that mount the storage.
 */
export function sharedPlace({ storage, sharing }: Scene, volume: string): BoundPlace | { readonly problem: string } {
  const { spec } = storage;
  const all = sharing();
  const having = all.filter(({ name }) => name === spec.class);
  const source = storageSource(spec);
  if (source !== undefined) return { problem: `${source.field}: only storages of the class ${localClass} can have the files of others` };
  if (having.length === 0) {
    const names = [localClass, ...new Set(all.map(({ name }) => name))].toSorted();
    return { problem: `spec.class: there is no class ${spec.class}; the classes are ${names.join(', ')}` };
  }
  if (spec.node !== undefined) {
    const found = having.find(({ node }) => node === spec.node);
    return found === undefined
      ? { problem: `spec.node: the node ${spec.node} has no shared directory ${spec.class}` }
      : { node: found.node, volume, directory: found.id };
  }
  const byId = [...Map.groupBy(having, ({ id }) => id).values()].toSorted((one, other) => other.length - one.length);
  const [{ node, id }] = byId[0] as [Sharing];
  return { node, volume, directory: id };
}

/** The node that keeps the files of a shared directory from now on, because the one before was lost. */
export function anotherKeeper({ storage, node, sharing }: Scene): string | undefined {
  const { node: before = '', directory } = storage.status ?? {};
  if (directory === undefined || nodeStateOf(node(before)).kind !== 'lost') return undefined;
  return sharing().find(({ name, id }) => name === storage.spec.class && id === directory)?.node;
}
