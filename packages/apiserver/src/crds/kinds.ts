import type { CustomKinds, Group, GroupVersion } from '../registry/catalog.ts';
import type { Resource } from '../registry/resource.ts';
import type { Definition } from './definition.ts';
import { byPreference } from './versions.ts';

/** The kinds added by the users of one workspace. */
export class WorkspaceKinds implements CustomKinds {
  generation = 1;
  readonly #groups = new Map<string, Map<string, Definition>>();

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  get(group: string, plural: string): Definition | undefined {
    return this.#groups.get(group)?.get(plural);
  }

  set(definition: Definition): void {
    let group = this.#groups.get(definition.group);
    if (group === undefined) this.#groups.set(definition.group, (group = new Map()));
    group.set(definition.plural, definition);
    this.generation++;
  }

  delete({ group, plural }: { group: string; plural: string }): void {
    const definitions = this.#groups.get(group);
    if (definitions?.delete(plural) !== true) return;
    if (definitions.size === 0) this.#groups.delete(group);
    this.generation++;
  }

  *all(): Iterable<Definition> {
    for (const group of this.#groups.values()) yield* group.values();
  }

  /** All kinds of a group. */
  inGroup(group: string): Iterable<Definition> {
    return this.#groups.get(group)?.values() ?? [];
  }

  hasGroup(group: string): boolean {
    for (const definition of this.inGroup(group)) if (definition.served.length > 0) return true;
    return false;
  }

  resource(group: string, version: string, resource: string): Resource | undefined {
    return this.#groups.get(group)?.get(resource)?.resource(version);
  }

  *groups(): Iterable<Group> {
    for (const name of [...this.#groups.keys()].sort()) {
      const versions = this.#versionsOf(name);
      if (versions.length > 0) yield { name, preferredVersion: versions[0]!.version, versions };
    }
  }

  #versionsOf(group: string): GroupVersion[] {
    const found = new Map<string, Map<string, Resource>>();
    const definitions = [...this.inGroup(group)].sort((a, b) => (a.plural < b.plural ? -1 : 1));
    for (const definition of definitions) {
      for (const version of definition.served) {
        let resources = found.get(version);
        if (resources === undefined) found.set(version, (resources = new Map()));
        resources.set(definition.plural, definition.resource(version)!);
      }
    }
    return [...found]
      .map(([version, resources]): GroupVersion => ({ group, version, resources }))
      .sort((a, b) => byPreference(a.version, b.version));
  }
}
