import * as status from '../status/status.ts';
import { identifierOf, type Managed } from './entries.ts';
import { type FieldPath, type FieldSet, has, paths, printPath } from './field-set.ts';

/** A field that another manager owns and that the configuration would change. */
export interface Conflict {
  readonly manager: Managed;
  readonly path: FieldPath;
}

/** Ordered by manager name, so that the result is deterministic. */
export function conflictsOf(owned: readonly { readonly manager: Managed; readonly fields: FieldSet }[]): Conflict[] {
  const named = owned.map(({ manager, fields }) => ({ manager, fields, identifier: identifierOf(manager) }));
  named.sort((left, right) => (left.identifier < right.identifier ? -1 : 1));
  return named.flatMap(({ manager, fields }) => [...paths(fields)].map((path) => ({ manager, path })));
}

export const withoutAllowed = (conflicts: readonly Conflict[], allowed: FieldSet): Conflict[] =>
  conflicts.filter(({ path }) => !has(allowed, path));

/** The same conflicts with the managers' apiVersion replaced. Conflicts of one manager keep sharing one. */
export function shownIn(conflicts: readonly Conflict[], apiVersion: string | undefined): readonly Conflict[] {
  if (apiVersion === undefined) return conflicts;
  const shown = new Map<Managed, Managed>();
  return conflicts.map(({ manager, path }) => {
    let one = shown.get(manager);
    if (one === undefined) shown.set(manager, (one = { ...manager, apiVersion }));
    return { manager: one, path };
  });
}

export function conflictError(conflicts: readonly Conflict[]): status.StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${printManager(manager)}`,
    field: printPath(path),
  }));
  return status.applyConflict(causes, messageOf(conflicts));
}

function messageOf(conflicts: readonly Conflict[]): string {
  const [only] = conflicts;
  if (conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${printManager(only!.manager)}: ${printPath(only!.path)}`;
  }
  const lines: string[] = [];
  let last: Managed | undefined;
  for (const { manager, path } of conflicts) {
    if (manager !== last) lines.push(`conflicts with ${printManager(manager)}:`);
    lines.push(`- ${printPath(path)}`);
    last = manager;
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function printManager({ manager, subresource, operation, apiVersion }: Managed): string {
  const name = JSON.stringify(manager) + (subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`);
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
