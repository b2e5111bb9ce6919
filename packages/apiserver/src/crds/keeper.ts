import type { ClusterId } from '@capstan/api';
import { cleanupFinalizer } from '@capstan/kinds';
import { fieldsOf, type KubeObject, status } from '@capstan/machinery';
import { endOf, type ResourceCache } from '../cache/watch-cache.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { RequestContext } from '../registry/context.ts';
import { deleteObject } from '../registry/delete.ts';
import type { Backend } from '../registry/objects.ts';
import { type Quarantine, QuarantineClaims } from '../registry/quarantine.ts';
import type { Resource } from '../registry/resource.ts';
import { update } from '../registry/update.ts';
import { serverContext } from '../upkeep/context.ts';
import { Turns } from '../upkeep/turns.ts';
import type { WatchHub } from '../watch/hub.ts';
import { type NewCondition, withCondition } from './conditions.ts';
import { clusterOf, type Definition, nameOf } from './definition.ts';
import { type Definitions, definitionResource } from './definitions.ts';
import { takenNames } from './names.ts';
import { heldRules } from './quarantined-rules.ts';
import { conditionsOf, quarantinedType, wantedStatus } from './status.ts';

interface KeeperOptions {
  readonly serving: Backend & { readonly catalog: Catalog; readonly hub: WatchHub };
  readonly definitions: Definitions;
  /** Kinds of a group that are bound into a workspace; their names are taken. */
  readonly boundIn: (cluster: ClusterId, group: string) => Iterable<Definition>;
  readonly quarantine: Quarantine;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

const retryAfter = 1000;

/**
 * The controller for definitions: accepts their names, establishes them, and deletes their objects when they are deleted. It handles every
 * change of a definition, one at a time.
 */
export class DefinitionKeeper implements Disposable {
  readonly #options: KeeperOptions;
  readonly #resource: Resource;
  readonly #turns: Turns<Definition>;
  readonly #claims = new QuarantineClaims();
  /** Keys of definitions that wait for their last object to be deleted. */
  readonly #awaiting = new Set<string>();

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#turns = new Turns({ work: (definition) => this.#keep(definition), onError: options.onError, retryAfter });
    this.#resource = options.serving.catalog.resource(definitionResource.group, 'v1', definitionResource.resource)!;
    options.definitions.listen(({ now, before }) => this.#changed(now, before));
    for (const definition of options.definitions.all()) {
      const { key, text } = definition.entry;
      const says = text.includes(quarantinedType);
      if (says) this.#claims.set(key, true);
      if (says || needsCare(definition) || heldRules(definition, options.quarantine) !== undefined) this.#turns.ask(definition);
    }
  }

  [Symbol.dispose](): void {
    this.#turns[Symbol.dispose]();
  }

  /** Called when the bound kinds of a workspace have changed: names may have become free. */
  look(cluster: ClusterId): void {
    for (const definition of this.#options.definitions.in(cluster)?.all() ?? []) if (needsCare(definition)) this.#turns.ask(definition);
  }

  #changed(now: Definition | undefined, before: Definition | undefined): void {
    const { hub, cache } = this.#options.serving;
    // Watchers still receive objects as the old definition had them.
    if (before !== undefined && now?.summary.generation !== before.summary.generation)
      hub.endWatches(cache.resource({ group: before.group, resource: before.plural }), `${clusterOf(before.entry)}/`);
    const definition = now ?? before!;
    if (now !== undefined) this.#turns.ask(now);
    // Another definition may be waiting for a name that is now free.
    const others = this.#options.definitions.in(clusterOf(definition.entry))?.inGroup(definition.group) ?? [];
    for (const other of others) if (!other.summary.established || now === undefined) this.#turns.ask(other);
  }

  /** Reconciles one definition, from its current state in the cache. */
  async #keep({ entry, group, plural }: Definition): Promise<void> {
    const definition = this.#options.definitions.in(clusterOf(entry))?.get(group, plural);
    if (definition === undefined) return;
    const object = definition.entry.parse();
    if (object.metadata.deletionTimestamp !== undefined) return this.#finish(definition, object);
    const { key } = definition.entry;
    const held = heldRules(definition, this.#options.quarantine);
    const mayRelease = this.#claims.isDue(key, { says: true, knows: held !== undefined });
    const wanted = (current: KubeObject): object | undefined =>
      wantedStatus(current, this.#takenBeside(definition), { now: this.#options.now(), held, mayRelease });
    if (wanted(object) !== undefined)
      await this.#write(definition, (current) => ({ ...current, status: wanted(current) ?? current['status'] }));
    this.#claims.set(key, held !== undefined);
  }

  #takenBeside(definition: Definition): ReturnType<typeof takenNames> {
    const cluster = clusterOf(definition.entry);
    const { definitions, boundIn } = this.#options;
    const others = [...(definitions.in(cluster)?.inGroup(definition.group) ?? [])].filter((other) => other.plural !== definition.plural);
    return takenNames([...others, ...boundIn(cluster, definition.group)].map((other) => other.summary.names));
  }

  /** Deletes the objects, then removes the finalizer of the definition. Waits for objects that have finalizers themselves. */
  async #finish(definition: Definition, object: KubeObject): Promise<void> {
    if (object.metadata.finalizers?.includes(cleanupFinalizer) !== true) return;
    if (!definition.summary.established) {
      return this.#release(definition, { status: 'False', reason: 'NeverEstablished', message: 'resource was never established' });
    }
    await this.#write(definition, (current) =>
      this.#terminating(current, {
        status: 'True',
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      }),
    );
    const held = this.#options.serving.cache.resource({ group: definition.group, resource: definition.plural });
    await this.#deleteAll(definition, held);
    if (count(held, definition) === 0)
      return this.#release(definition, { status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' });
    this.#awaitEmpty(held, definition);
  }

  /** The cache holds the objects of all workspaces that define the same kind; each definition waits only for its own. */
  #awaitEmpty(held: ResourceCache, definition: Definition): void {
    const { key } = definition.entry;
    if (this.#awaiting.has(key)) return;
    this.#awaiting.add(key);
    const listener = {
      changed: (): void => {
        if (count(held, definition) > 0) return;
        held.listeners.delete(listener);
        this.#awaiting.delete(key);
        this.#turns.ask(definition);
      },
    };
    held.listeners.add(listener);
  }

  async #deleteAll(definition: Definition, held: ResourceCache): Promise<void> {
    const { serving } = this.#options;
    const resource = definition.stored;
    if (resource === undefined) return;
    const context = this.#context(definition);
    const prefix = `${clusterOf(definition.entry)}/`;
    const keys: string[] = [];
    held.entries.walk(prefix, endOf(prefix), (entry) => {
      keys.push(entry.key);
      return true;
    });
    for (const key of keys) {
      const [, namespace = '', name = ''] = key.split('/');
      try {
        await deleteObject(serving, context, { resource, namespace, name, options: {}, dryRun: false });
      } catch (error) {
        if (!(error instanceof status.StatusError) || error.reason !== 'NotFound') throw error;
      }
    }
  }

  #release(definition: Definition, condition: Omit<NewCondition, 'type'>): Promise<void> {
    return this.#write(definition, (current) => {
      const released = this.#terminating(current, condition);
      const { finalizers = [], ...metadata } = released.metadata;
      return { ...released, metadata: { ...metadata, finalizers: finalizers.filter((name) => name !== cleanupFinalizer) } };
    });
  }

  #terminating(current: KubeObject, condition: Omit<NewCondition, 'type'>): KubeObject {
    const conditions = withCondition(conditionsOf(current), { type: 'Terminating', ...condition }, this.#options.now());
    return { ...current, status: { ...fieldsOf(current['status']), conditions } };
  }

  async #write(definition: Definition, change: (current: KubeObject) => KubeObject): Promise<void> {
    try {
      await update(this.#options.serving, this.#context(definition), {
        resource: this.#resource,
        namespace: '',
        name: nameOf(definition.entry),
        subresource: 'status',
        manager: 'kube-apiserver',
        dryRun: false,
        change: (old) => ({ object: change(old) }),
      });
    } catch (error) {
      if (!(error instanceof status.StatusError) || error.reason !== 'NotFound') throw error;
    }
  }

  #context(definition: Definition): RequestContext {
    return serverContext({ cluster: clusterOf(definition.entry), objects: this.#options.serving.cache, now: this.#options.now });
  }
}

/** Matches the text of an established definition. Parsing all of them at startup would take too long. */
const establishedText = /"type":"Established","status":"True"/;

function needsCare({ entry }: Definition): boolean {
  return !establishedText.test(entry.text) || entry.text.includes('"deletionTimestamp":');
}

function count(held: ResourceCache, definition: Definition): number {
  const prefix = `${clusterOf(definition.entry)}/`;
  return held.entries.count(prefix, endOf(prefix));
}
