/** A kind of Kubernetes; `*` as the resource means all kinds of the group, and as the group all groups. */
export interface KindName {
  readonly group: string;
  readonly resource: string;
}

/** Groups whose objects act on the server itself. No workspace but the root one serves them. */
const serverGroups = new Set(['apiregistration.k8s.io', 'flowcontrol.apiserver.k8s.io', 'internal.apiserver.k8s.io']);

/** Parses a list such as `pods,deployments.apps,*.batch` or `*`. */
export function parseKindNames(text = ''): KindName[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
    .map((word) => {
      if (word === '*') return { group: '*', resource: '*' };
      const dot = word.indexOf('.');
      return dot < 0 ? { group: '', resource: word } : { group: word.slice(dot + 1), resource: word.slice(0, dot) };
    });
}

/** Whether one of the names means this kind. */
export function namesKind(names: readonly KindName[], group: string, resource: string): boolean {
  if (serverGroups.has(group)) return false;
  return names.some((name) => (name.group === '*' || name.group === group) && (name.resource === '*' || name.resource === resource));
}
