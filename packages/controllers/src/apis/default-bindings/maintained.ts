import { pathAnnotation, type WorkspaceType } from '@capstan/api';
import { clusterOf } from '@capstan/client';

/** An export, by the path or id of its workspace. */
export interface ExportReference {
  readonly path: string;
  readonly name: string;
}

/** Finds a type by the path or id of its workspace, and its name. */
export type FindType = (path: string, name: string) => WorkspaceType | undefined;

/** The key of a type. */
export const typeKey = (path: string, name: string): string => `${path}:${name}`;

export function keysOfType(type: WorkspaceType): string[] {
  const { name = '', annotations } = type.metadata;
  const cluster = clusterOf(type) ?? '';
  return [...new Set([cluster, annotations?.[pathAnnotation] ?? cluster])].map((path) => typeKey(path, name));
}

/** The exports whose bindings a type maintains. */
export function exportsOf(type: WorkspaceType): ExportReference[] {
  const { defaultAPIBindingLifecycle, defaultAPIBindings = [] } = type.spec ?? {};
  if (defaultAPIBindingLifecycle !== 'Maintain') return [];
  return defaultAPIBindings.map(({ path, export: name }) => ({ path: path || (clusterOf(type) ?? ''), name }));
}

/** The same for a workspace's type, given as `path:name`, and the types that it extends. */
export function maintainedExports(type: string, find: FindType): ExportReference[] {
  return withExtended(type, find).flatMap(exportsOf);
}

/** The type itself and all that extend it: a change matters to their workspaces. */
export function extendedBy(type: WorkspaceType, all: readonly WorkspaceType[], find: FindType): WorkspaceType[] {
  return all.filter((one) => keysOfType(one).some((key) => withExtended(key, find).includes(type)));
}

/** The type and all that it extends. */
function withExtended(type: string, find: FindType): WorkspaceType[] {
  const found = new Map<string, WorkspaceType>();
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
