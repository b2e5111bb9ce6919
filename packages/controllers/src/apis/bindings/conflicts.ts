import type { ApiBinding, ResourceNames } from '@capstan/api';

/** A kind that a workspace has, and where it comes from. */
export interface Taken {
  readonly group: string;
  readonly names: ResourceNames;
  readonly by: { readonly binding: ApiBinding } | { readonly definition: string } | { readonly kubernetes: true };
}

/** The kind that a binding would add. */
export interface Incoming {
  readonly group: string;
  readonly names: ResourceNames;
}

/** Whether Kubernetes may have kinds in this group, which a workspace serves if its type says so. */
export function isKubernetesGroup(group: string): boolean {
  return !group.includes('.') || group.endsWith('.k8s.io');
}

/** The owner of exactly this resource, undefined if there is none. Names that merely clash are a separate matter. */
export function ownerOf(incoming: Incoming, taken: readonly Taken[]): Taken | undefined {
  return taken.find(({ group, names }) => group === incoming.group && names.plural === incoming.names.plural);
}

/** How the names of a kind clash with those of others; undefined if they do not. */
export function namingConflict(incoming: Incoming, taken: readonly Taken[]): string | undefined {
  for (const other of taken) {
    const clash = clashOf(incoming, other);
    if (clash !== undefined) return `naming conflict with ${describe(other)}: ${clash} is forbidden`;
  }
  return undefined;
}

/** The resources that others own, in kcp's format. */
export function printSkipped(skipped: ReadonlyMap<string, Taken>): string {
  const each = [...skipped].sort(([a], [b]) => (a < b ? -1 : 1)).map(([resource, { by }]) => `${resource}:${printOwner(by)}`);
  return `map[${each.join(' ')}]`;
}

function printOwner(by: Taken['by']): string {
  if ('kubernetes' in by) return '{kubernetes false}';
  return 'binding' in by ? `{${by.binding.metadata.name} false}` : '{ true}';
}

function describe({ by }: Taken): string {
  if ('kubernetes' in by) return 'a kind of Kubernetes';
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
