import { bindingsInitializer, clusterAnnotation, pathAnnotation, rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, itemsOf, textOf } from '@capstan/machinery';
import type { Tree } from '../tree.ts';

export const workspaceTypes = { group: 'tenancy.kcp.io', resource: 'workspacetypes' } as const;

/** A type as others name it. Without a path it is looked for from a workspace upwards. */
export interface TypeReference {
  readonly path: string;
  readonly name: string;
}

export interface WorkspaceType {
  /** The id of the workspace that it is defined in. */
  readonly cluster: string;
  /** The path of that workspace. */
  readonly path: string;
  readonly name: string;
  /** `path:name`, as people write it. */
  readonly qualified: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What an export is bound by when a workspace is made. */
export interface DefaultBinding {
  readonly path: string;
  readonly name: string;
}

/** Why a type cannot be used. The message is for the client. */
export class TypeProblem extends Error {}

/** Finds types, and what they inherit. */
export class WorkspaceTypes {
  readonly #objects: ObjectReader;
  readonly #tree: Tree;

  constructor({ objects, tree }: { objects: ObjectReader; tree: Tree }) {
    this.#objects = objects;
    this.#tree = tree;
  }

  /** The type at a path; undefined when there is none. */
  at({ path, name }: TypeReference): WorkspaceType | undefined {
    const cluster = this.#tree.resolve(path);
    const object = cluster === undefined ? undefined : this.#objects.get({ ...workspaceTypes, cluster, namespace: '', name });
    return object && typeOf(object, { cluster: cluster!, path });
  }

  /** The type that is meant in a workspace: there, in those above it, and in the root workspace at last. */
  resolve(reference: TypeReference, from: string): WorkspaceType {
    if (reference.path !== '') {
      const found = this.at(reference);
      if (found === undefined)
        throw new TypeProblem(`Internal error occurred: workspacetypes.tenancy.kcp.io "${reference.path}:${reference.name}" not found`);
      return found;
    }
    for (let path: string | undefined = from; path !== undefined; path = above(path)) {
      const found = this.at({ path, name: reference.name });
      if (found !== undefined) return found;
    }
    throw new TypeProblem(`workspace type "${reference.name}" cannot be resolved`);
  }

  /** All types that it extends, and itself last. */
  withInherited(type: WorkspaceType): WorkspaceType[] {
    return [...this.#inherited(type, { seen: new Set(), line: [] }), type];
  }

  #inherited(type: WorkspaceType, walk: { seen: Set<string>; line: readonly string[] }): WorkspaceType[] {
    walk.seen.add(type.qualified);
    const line = [...walk.line, type.qualified];
    return itemsOf(fieldsOf(type.spec['extend'])['with']).flatMap((reference) => {
      const base = this.#base(reference, type);
      const at = line.indexOf(base.qualified);
      if (at >= 0)
        throw new TypeProblem(`circular dependency detected in workspace type ${base.qualified}: ${line.slice(at).join(' -> ')}`);
      if (walk.seen.has(base.qualified)) return [];
      return [base, ...this.#inherited(base, { seen: walk.seen, line })];
    });
  }

  #base(reference: Readonly<Record<string, unknown>>, { path }: WorkspaceType): WorkspaceType {
    const name = textOf(reference['name']);
    try {
      return this.resolve({ path: textOf(reference['path']), name }, path);
    } catch {
      throw new TypeProblem(`unable to find inherited workspace type ${name}`);
    }
  }
}

/** Who has to do something before a workspace of these types is ready. */
export function initializersOf(types: readonly WorkspaceType[]): string[] {
  const names = types.filter(({ spec }) => spec['initializer'] === true).map(waiterName);
  return defaultBindingsOf(types).length > 0 ? [...names, bindingsInitializer] : names;
}

/** Who has to do something before a workspace of these types ends. */
export function terminatorsOf(types: readonly WorkspaceType[]): string[] {
  return types.filter(({ spec }) => spec['terminator'] === true).map(waiterName);
}

/** What is bound in a workspace of these types, each once. */
export function defaultBindingsOf(types: readonly WorkspaceType[]): DefaultBinding[] {
  const found = new Map<string, DefaultBinding>();
  for (const { spec, cluster } of types) {
    for (const binding of itemsOf(spec['defaultAPIBindings'])) {
      const path = textOf(binding['path']) || cluster;
      const name = textOf(binding['export']);
      found.set(`${path}|${name}`, { path, name });
    }
  }
  return [...found.values()];
}

/** The type with its workspace's id: a path may come to mean another workspace. */
const waiterName = ({ cluster, name }: Pick<WorkspaceType, 'cluster' | 'name'>): string => `${cluster}:${name}`;

function typeOf(object: KubeObject, place: { cluster: string; path: string }): WorkspaceType {
  const name = object.metadata.name!;
  const { [pathAnnotation]: path = place.path, [clusterAnnotation]: cluster = place.cluster } = object.metadata.annotations ?? {};
  return { cluster, path, name, qualified: `${path}:${name}`, spec: fieldsOf(object['spec']) };
}

/** The path of the workspace above; the root workspace is above all, whatever their paths begin with. */
function above(path: string): string | undefined {
  if (path === rootCluster) return undefined;
  const colon = path.lastIndexOf(':');
  return colon < 0 ? rootCluster : path.slice(0, colon);
}
