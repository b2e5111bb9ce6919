import {
  asClusterId,
  bindingsInitializer,
  type ClusterId,
  clusterAnnotation,
  groupResource,
  pathAnnotation,
  rootCluster,
  type WorkspaceType as WorkspaceTypeObject,
  type WorkspaceTypeReference,
  workspaceTypeKind,
} from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { Tree } from '../tree.ts';

export const workspaceTypes = groupResource(workspaceTypeKind);

/** A reference to a type. Without a path, the type is looked up from the workspace upwards. */
export interface TypeReference {
  readonly path: string;
  readonly name: string;
}

export interface WorkspaceType {
  /** The id of the workspace that defines it. */
  readonly cluster: ClusterId;
  /** The path of that workspace. */
  readonly path: string;
  readonly name: string;
  /** `path:name`. */
  readonly qualified: string;
  readonly spec: Readonly<NonNullable<WorkspaceTypeObject['spec']>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** An export that is bound when a workspace is created. */
export interface DefaultBinding {
  readonly path: string;
  readonly name: string;
}

/** Why a type cannot be used. The message is sent to the client. */
export class TypeProblem extends Error {}

/** A type that was named with its path does not exist. Only those who may read the types there are told so. */
export class MissingType extends TypeProblem {
  readonly path: string;
  readonly type: string;

  constructor({ path, name }: TypeReference) {
    super(`Internal error occurred: workspacetypes.tenancy.kcp.io "${path}:${name}" not found`);
    this.path = path;
    this.type = name;
  }
}

/** Resolves types and their inheritance. */
export class WorkspaceTypes {
  readonly #objects: ObjectReader;
  readonly #tree: Tree;

  constructor({ objects, tree }: { objects: ObjectReader; tree: Tree }) {
    this.#objects = objects;
    this.#tree = tree;
  }

  /** The id of the workspace at a path. */
  clusterAt(path: string): ClusterId | undefined {
    return this.#tree.resolve(path);
  }

  /** The type at a path; undefined if there is none. */
  at({ path, name }: TypeReference): WorkspaceType | undefined {
    const cluster = this.#tree.resolve(path);
    const object = cluster === undefined ? undefined : this.#objects.get({ ...workspaceTypes, cluster, namespace: '', name });
    return object && typeOf(object, { cluster: cluster!, path });
  }

  /** Resolves a type from a workspace: there, then in its ancestors, and finally in the root workspace. */
  resolve(reference: TypeReference, from: string): WorkspaceType {
    if (reference.path !== '') {
      const found = this.at(reference);
      if (found === undefined) throw new MissingType(reference);
      return found;
    }
    for (let path: string | undefined = from; path !== undefined; path = above(path)) {
      const found = this.at({ path, name: reference.name });
      if (found !== undefined) return found;
    }
    throw new TypeProblem(`workspace type "${reference.name}" cannot be resolved`);
  }

  /** All types that it extends, then itself. */
  withInherited(type: WorkspaceType): WorkspaceType[] {
    return [...this.#inherited(type, { seen: new Set(), line: [] }), type];
  }

  #inherited(type: WorkspaceType, walk: { seen: Set<string>; line: readonly string[] }): WorkspaceType[] {
    walk.seen.add(type.qualified);
    const line = [...walk.line, type.qualified];
    return (type.spec.extend?.with ?? []).flatMap((reference) => {
      const base = this.#base(reference, type);
      const at = line.indexOf(base.qualified);
      if (at >= 0)
        throw new TypeProblem(`circular dependency detected in workspace type ${base.qualified}: ${line.slice(at).join(' -> ')}`);
      if (walk.seen.has(base.qualified)) return [];
      return [base, ...this.#inherited(base, { seen: walk.seen, line })];
    });
  }

  #base({ name, path = '' }: WorkspaceTypeReference, from: WorkspaceType): WorkspaceType {
    try {
      return this.resolve({ path, name }, from.path);
    } catch {
      throw new TypeProblem(`unable to find inherited workspace type ${name}`);
    }
  }
}

/** The initializers that must finish before a workspace of these types is ready. */
export function initializersOf(types: readonly WorkspaceType[]): string[] {
  const names = types.filter(({ spec }) => spec.initializer === true).map(waiterName);
  return defaultBindingsOf(types).length > 0 ? [...names, bindingsInitializer] : names;
}

/** The terminators that must finish before a workspace of these types is deleted. */
export function terminatorsOf(types: readonly WorkspaceType[]): string[] {
  return types.filter(({ spec }) => spec.terminator === true).map(waiterName);
}

/** The default bindings of a workspace of these types, each once. */
export function defaultBindingsOf(types: readonly WorkspaceType[]): DefaultBinding[] {
  const found = new Map<string, DefaultBinding>();
  for (const { spec, cluster } of types) {
    for (const { path: given, export: name } of spec.defaultAPIBindings ?? []) {
      const path = given || cluster;
      found.set(`${path}|${name}`, { path, name });
    }
  }
  return [...found.values()];
}

/** Whether workspaces of these types get new default bindings later, and report whether all are complete. */
export function maintainsBindings(types: readonly WorkspaceType[]): boolean {
  return types.some(({ spec }) => spec.defaultAPIBindingLifecycle === 'Maintain' && (spec.defaultAPIBindings ?? []).length > 0);
}

/** Uses the id of the workspace, since its path may later refer to another workspace. */
const waiterName = ({ cluster, name }: Pick<WorkspaceType, 'cluster' | 'name'>): string => `${cluster}:${name}`;

function typeOf(object: WorkspaceTypeObject, place: { cluster: ClusterId; path: string }): WorkspaceType {
  const name = object.metadata.name!;
  const { [pathAnnotation]: path = place.path, [clusterAnnotation]: cluster = place.cluster } = object.metadata.annotations ?? {};
  return {
    cluster: asClusterId(cluster),
    path,
    name,
    qualified: `${path}:${name}`,
    spec: object.spec ?? {},
    annotations: object.metadata.annotations ?? {},
  };
}

/** The path of the parent workspace; every path ends at the root workspace, whatever it begins with. */
function above(path: string): string | undefined {
  if (path === rootCluster) return undefined;
  const colon = path.lastIndexOf(':');
  return colon < 0 ? rootCluster : path.slice(0, colon);
}
