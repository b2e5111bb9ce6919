import { clusterOf } from '@capstan/client';
import { pathAnnotation } from '../../tenancy/facts.ts';
import type { WorkspaceTypeObject } from '../../tenancy/kinds.ts';

/** An export, by the path or id of its workspace. */
export interface ExportReference {
  readonly path: string;
  readonly name: string;
}

/** Finds a type by the path or id of its workspace, and its name. */
export type FindType = (path: string, name: string) => WorkspaceTypeObject | undefined;

/** The key of a type. */
export const typeKey = (path: string, name: string): string => `${path}:${name}`;

export function keysOfType(type: WorkspaceTypeObject): string[] {
  const { name = '', annotations } = type.metadata;
  const cluster = clusterOf(type) ?? '';
  return [...new Set([cluster, annotations?.[pathAnnotation] ?? cluster])].map((path) => typeKey(path, name));
}

/** The exports whose bindings a type maintains. */
export function exportsOf(type: WorkspaceTypeObject): ExportReference[] {
  const { defaultAPIBindingLifecycle, defaultAPIBindings = [] } = type.spec ?? {};
  if (defaultAPIBindingLifecycle !== 'Maintain') return [];
  return defaultAPIBindings.map(({ path, export: name }) => ({ path: path || (clusterOf(type) ?? ''), name }));
}

/** The same for a workspace's type, given as `path:name`, and the types that it extends. */
export function maintainedExports(type: string, find: FindType): ExportReference[] {
  return withExtended(type, find).flatMap(exportsOf);
}

/** The type itself and all that extend it: a change matters to their workspaces. */
export function extendedBy(type: WorkspaceTypeObject, all: readonly WorkspaceTypeObject[], find: FindType): WorkspaceTypeObject[] {
  return all.filter((one) => keysOfType(one).some((key) => withExtended(key, find).includes(type)));
}

/** The type and all that it extends. */
function withExtended(type: string, find: FindType): WorkspaceTypeObject[] {
  const found = new Map<string, WorkspaceTypeObject>();
  const walk = (path: string, name: string): void => {
    const one = find(path, name);
    const key = one && typeKey(clusterOf(one) ?? '', name);
    if (one === undefined || found.has(key!)) return;
    found.set(key!, one);
    for (const base of one.spec?.extend?.with ?? []) walk(base.path || (clusterOf(one) ?? ''), base.name);
  };
  const colon = type.lastIndexOf(':');
  walk(type.slice(0, colon), type.slice(colon + 1));
  return [...found.values()];
}
