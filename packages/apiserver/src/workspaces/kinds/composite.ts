import type { CustomKinds, Group, GroupVersion } from '../../registry/catalog.ts';
import type { Resource } from '../../registry/resource.ts';

/** Combines several sources of kinds. If two have a resource of the same group and name, the first wins. */
export class CompositeKinds implements CustomKinds {
  readonly #parts: readonly CustomKinds[];

  constructor(parts: readonly CustomKinds[]) {
    this.#parts = parts;
  }

  get generation(): number {
    let sum = 0;
    for (const part of this.#parts) sum += part.generation;
    return sum;
  }

  hasGroup(group: string): boolean {
    return this.#parts.some((part) => part.hasGroup(group));
  }

  resource(group: string, version: string, resource: string): Resource | undefined {
    for (const part of this.#parts) {
      const found = part.resource(group, version, resource);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  *groups(): Iterable<Group> {
    const byName = new Map<string, Group[]>();
    for (const part of this.#parts) {
      for (const group of part.groups()) {
        const same = byName.get(group.name);
        if (same === undefined) byName.set(group.name, [group]);
        else same.push(group);
      }
    }
    for (const name of [...byName.keys()].sort()) yield merged(byName.get(name)!);
  }
}

function merged(groups: readonly Group[]): Group {
  const [first] = groups;
  if (groups.length === 1) return first!;
  const taken = new Set<string>();
  const versions = new Map<string, Map<string, Resource>>();
  for (const group of groups) {
    const served = new Set(group.versions.flatMap(({ resources }) => [...resources.keys()]).filter((name) => !taken.has(name)));
    for (const { version, resources } of group.versions) {
      let together = versions.get(version);
      if (together === undefined) versions.set(version, (together = new Map()));
      for (const [name, resource] of resources) if (served.has(name)) together.set(name, resource);
    }
    for (const name of served) taken.add(name);
  }
  const all: GroupVersion[] = [...versions].map(([version, resources]) => ({
    group: first!.name,
    version,
    resources: new Map([...resources].sort(([a], [b]) => (a < b ? -1 : 1))),
  }));
  return { ...first!, versions: all.filter(({ resources }) => resources.size > 0) };
}
