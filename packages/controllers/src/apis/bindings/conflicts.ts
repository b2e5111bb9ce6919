import type { ApiBinding, Names } from '../kinds.ts';

/** A kind that a workspace has, by whom it is there. */
export interface Taken {
  readonly group: string;
  readonly names: Names;
  readonly by: { readonly binding: ApiBinding } | { readonly definition: string };
}

/** The kind that a binding would bring. */
export interface Incoming {
  readonly group: string;
  readonly names: Names;
}

/** Who has the very resource; undefined when nobody does. Names that merely sound alike are another matter. */
export function ownerOf(incoming: Incoming, taken: readonly Taken[]): Taken | undefined {
  return taken.find(({ group, names }) => group === incoming.group && names.plural === incoming.names.plural);
}

/** Why the names of a kind cannot be told from those of others; undefined when they can. */
export function namingConflict(incoming: Incoming, taken: readonly Taken[]): string | undefined {
  for (const other of taken) {
    const clash = clashOf(incoming, other);
    if (clash !== undefined) return `naming conflict with ${describe(other)}: ${clash} is forbidden`;
  }
  return undefined;
}

/** Resources that others have, as kcp prints them. */
export function printSkipped(skipped: ReadonlyMap<string, Taken>): string {
  const each = [...skipped].sort(([a], [b]) => (a < b ? -1 : 1)).map(([resource, { by }]) => `${resource}:${printOwner(by)}`);
  return `map[${each.join(' ')}]`;
}

function printOwner(by: Taken['by']): string {
  return 'binding' in by ? `{${by.binding.metadata.name} false}` : '{ true}';
}

function describe({ by }: Taken): string {
  if ('definition' in by) return `CustomResourceDefinition "${by.definition}"`;
  const { path = '', name = '' } = by.binding.spec?.reference?.export ?? {};
  const provider = path === '' ? `local APIExport "${name}"` : `APIExport ${path}:${name}`;
  return `APIBinding "${by.binding.metadata.name}" bound to ${provider}`;
}

function clashOf({ group, names }: Incoming, other: Taken): string | undefined {
  if (other.group !== group) return undefined;
  const words = new Set([other.names.plural, other.names.singular, ...(other.names.shortNames ?? [])]);
  const kinds = new Set([other.names.kind, other.names.listKind]);
  if (words.has(names.plural)) return `spec.names.plural=${names.plural}`;
  if (names.singular !== undefined && words.has(names.singular)) return `spec.names.singular=${names.singular}`;
  if (names.shortNames?.some((name) => words.has(name)) === true) return `spec.names.shortNames=[${names.shortNames.join(' ')}]`;
  if (kinds.has(names.kind)) return `spec.names.kind=${names.kind}`;
  return names.listKind !== undefined && kinds.has(names.listKind) ? `spec.names.listKind=${names.listKind}` : undefined;
}
