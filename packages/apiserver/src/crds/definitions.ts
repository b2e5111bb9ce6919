import type { ClusterId } from '@capstan/api';
import type { RuleCompiler } from '@capstan/kinds';
import type { CacheEntry } from '../cache/entry.ts';
import type { CacheEvent } from '../cache/event-ring.ts';
import type { SortedMap } from '../cache/sorted-map.ts';
import type { ResourceCache, WatchCache } from '../cache/watch-cache.ts';
import { clusterOf, Definition, nameOf, type WebhookConversion } from './definition.ts';
import { WorkspaceKinds } from './kinds.ts';

export const definitionResource = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };

/** Called when a definition is added, changed or removed. */
export type DefinitionListener = (change: { readonly now: Definition | undefined; readonly before: Definition | undefined }) => void;

interface Options {
  readonly cache: WatchCache;
  readonly rules: RuleCompiler;
  readonly webhook: WebhookConversion;
}

/** All definitions of all workspaces, from the watch cache. Nothing is parsed until it is used. */
export class Definitions {
  readonly #options: Options;
  readonly #workspaces = new Map<string, WorkspaceKinds>();
  readonly #listeners = new Set<DefinitionListener>();
  readonly #held: ResourceCache;
  /** The map that was loaded. The cache starts a new one after it has lost its connection to the store. */
  #loaded: SortedMap<CacheEntry> | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#held = options.cache.resource(definitionResource);
    this.#load();
    this.#held.listeners.add({
      changed: (events) => {
        if (this.#held.entries !== this.#loaded) this.#reload();
        else for (const event of events) this.#apply(event);
      },
    });
  }

  /** The kinds added by the users of a workspace; undefined if there are none. */
  in(cluster: ClusterId): WorkspaceKinds | undefined {
    if (this.#held.entries !== this.#loaded) this.#reload();
    return this.#workspaces.get(cluster);
  }

  *all(): Iterable<Definition> {
    for (const workspace of this.#workspaces.values()) yield* workspace.all();
  }

  listen(listener: DefinitionListener): void {
    this.#listeners.add(listener);
  }

  #load(): void {
    this.#loaded = this.#held.entries;
    this.#loaded.walk('', '\u{10ffff}', (entry) => {
      this.#set(entry, undefined);
      return true;
    });
  }

  #reload(): void {
    const before = [...this.#workspaces.values()].flatMap((workspace) => [...workspace.all()]);
    this.#workspaces.clear();
    this.#load();
    for (const old of before) this.#tell(this.#get(old.entry), old);
    for (const workspace of this.#workspaces.values())
      for (const definition of workspace.all())
        if (!before.some((old) => old.entry.key === definition.entry.key)) this.#tell(definition, undefined);
  }

  #apply({ type, entry }: CacheEvent): void {
    const before = this.#get(entry);
    if (type === 'DELETED') {
      if (before === undefined) return;
      const cluster = clusterOf(entry);
      const workspace = this.#workspaces.get(cluster)!;
      workspace.delete(before);
      if (workspace.isEmpty) this.#workspaces.delete(cluster);
      this.#tell(undefined, before);
    } else {
      this.#tell(this.#set(entry, before), before);
    }
  }

  #get(entry: CacheEntry): Definition | undefined {
    const name = nameOf(entry);
    const dot = name.indexOf('.');
    return this.#workspaces.get(clusterOf(entry))?.get(name.slice(dot + 1), name.slice(0, dot));
  }

  #set(entry: CacheEntry, before: Definition | undefined): Definition {
    const { rules, webhook } = this.#options;
    const made = (since: number): Definition => new Definition({ entry, rules, webhook, since });
    let definition = made(entry.revision);
    // A status change does not change the form of objects.
    if (before !== undefined && before.summary.generation === definition.summary.generation) definition = made(before.since);
    const cluster = clusterOf(entry);
    let workspace = this.#workspaces.get(cluster);
    if (workspace === undefined) this.#workspaces.set(cluster, (workspace = new WorkspaceKinds()));
    workspace.set(definition);
    return definition;
  }

  #tell(now: Definition | undefined, before: Definition | undefined): void {
    for (const listener of this.#listeners) listener({ now, before });
  }
}
