import {
  type ApiConversion,
  type ApiResourceSchema,
  apiConversionKind,
  apiResourceSchemaKind,
  boundSchemasCluster,
  groupResource,
  rootCluster,
} from '@capstan/api';
import type { RuleCompiler } from '@capstan/kinds';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { BoundedMap } from '@capstan/machinery';
import type { BoundResource } from '../../bindings/bound-resources.ts';
import { CacheEntry, servedText, storedText } from '../../cache/entry.ts';
import type { CacheEvent } from '../../cache/event-ring.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { ResourceCache, WatchCache } from '../../cache/watch-cache.ts';
import { Definition, type WebhookConversion } from '../../crds/definition.ts';
import type { Quarantine } from '../../registry/quarantine.ts';
import { ruleConversion } from '../conversions/rule-conversion.ts';
import { BindingChanges } from './binding-changes.ts';
import { rootResourceSchemas } from './definitions.ts';
import type { PlatformKinds } from './platform-kinds.ts';

export const apiConversions = groupResource(apiConversionKind);
export const apiResourceSchemas = groupResource(apiResourceSchemaKind);

/** The name of the copy of a schema. */
const boundSchemaName = ({ schema, resource, group }: BoundResource): string => `${schema}.${resource}.${group || 'core'}`;

/** How many definitions are cached. */
const capacity = 5_000;

const keyOf = ({ schema, identity, isEnding }: BoundResource): string => `${schema}/${identity}/${isEnding === true}`;

interface Options {
  readonly cache: WatchCache;
  readonly platform: PlatformKinds;
  readonly rules: RuleCompiler;
  readonly webhook: WebhookConversion;
  readonly quarantine: Quarantine;
}

/** Creates definitions of bound schemas. A schema under one identity has one definition, however many workspaces bind it. */
export class BoundDefinitions {
  readonly #options: Options;
  readonly #made = new BoundedMap<string, Definition>(capacity);
  readonly #platformSchemas: readonly string[];
  readonly #conversions: ResourceCache<ApiConversion>;
  readonly #bindings: BindingChanges;
  #seen: ResourceCache<ApiConversion>['entries'];
  #generation = 0;

  /** Called with definitions that are out of date because their conversion rules changed. */
  readonly listeners = new Set<(changed: readonly Definition[]) => void>();

  constructor(options: Options) {
    this.#options = options;
    this.#conversions = options.cache.resource(apiConversions);
    this.#bindings = new BindingChanges(options.cache);
    this.#seen = this.#conversions.entries;
    this.#conversions.listeners.add({ changed: (events) => this.#follow(events) });
    // A deleted copy means that nobody is bound to the schema any more.
    options.cache.resource(apiResourceSchemas).listeners.add({
      changed: (events) => this.#follow(events.filter(({ type }) => type === 'DELETED')),
    });
    this.#platformSchemas = rootResourceSchemas().map(({ metadata }) => metadata.name!);
  }

  /** Changes when an existing definition becomes out of date. */
  get generation(): number {
    this.#refresh();
    return this.#generation;
  }

  /** The definition of a bound kind; undefined if its schema is missing. */
  readonly of = (bound: BoundResource): Definition | undefined => {
    if (this.#isPlatform(bound)) return this.#options.platform.all.get(bound.group, bound.resource);
    this.#refresh();
    const known = this.#made.get(keyOf(bound));
    if (known !== undefined) return known;
    const at = { ...apiResourceSchemas, cluster: boundSchemasCluster, namespace: '', name: boundSchemaName(bound) };
    const copy = this.#options.cache.get(at);
    return copy && this.#remember(copy, bound);
  };

  /** The definition of a schema in its provider's workspace, for objects under an identity. It equals that of the schema's copy. */
  ofSchema(schema: ApiResourceSchema, identity: string): Definition {
    const { metadata, spec } = schema;
    const bound = { group: spec?.group ?? '', resource: spec?.names.plural ?? '', schema: metadata.uid ?? '', identity };
    if (this.#isPlatform(bound)) return this.#options.platform.all.get(bound.group, bound.resource)!;
    this.#refresh();
    return this.#made.get(keyOf(bound)) ?? this.#remember(schema, bound);
  }

  #remember(schema: ApiResourceSchema, bound: BoundResource): Definition {
    const definition = this.#make(schema, bound);
    this.#made.set(keyOf(bound), definition);
    return definition;
  }

  #make(schema: ApiResourceSchema, bound: BoundResource): Definition {
    const { identity, isEnding } = bound;
    const { cache, platform: _, quarantine, ...parts } = this.#options;
    const rules = cache.get({ ...apiConversions, cluster: boundSchemasCluster, namespace: '', name: boundSchemaName(bound) });
    const object = asDefinition(schema, isEnding);
    const key = `${boundSchemasCluster}//${object.metadata.name}`;
    const entry = new CacheEntry(key, servedText(key, storedText(object), 0), 0);
    return new Definition({
      ...parts,
      entry,
      since: 0,
      isOlder: (stored) => this.#bindings.isOlder(stored, identity),
      storedAs: `${object.metadata.name!.slice(0, object.metadata.name!.indexOf('.'))}:${identity}`,
      ...(rules !== undefined && { conversion: ruleConversion({ spec: rules.spec, quarantine }) }),
    });
  }

  /** The cache starts with a new map after it lost its connection to the store. */
  #refresh(): void {
    if (this.#seen === this.#conversions.entries) return;
    this.#seen = this.#conversions.entries;
    this.#forget(() => true);
  }

  /** Forgets the definitions of these schema copies or conversion rules, which have the same names. */
  #follow(events: readonly CacheEvent[]): void {
    for (const { entry } of events) {
      if (clusterOfKey(entry.key) !== boundSchemasCluster) continue;
      const name = entry.key.slice(entry.key.lastIndexOf('/') + 1);
      const beginning = `${name.slice(0, name.indexOf('.'))}/`;
      this.#forget((key) => key.startsWith(beginning));
    }
  }

  #forget(isMeant: (key: string) => boolean): void {
    const changed: Definition[] = [];
    for (const [key, definition] of this.#made) {
      if (!isMeant(key)) continue;
      this.#made.delete(key);
      changed.push(definition);
    }
    this.#generation++;
    if (changed.length > 0) for (const listener of this.listeners) listener(changed);
  }

  /** The root workspace's own schemas are recognized by their UIDs, which nobody can forge. */
  #isPlatform({ schema }: BoundResource): boolean {
    return this.#platformSchemas.some(
      (name) => this.#options.cache.get({ ...apiResourceSchemas, cluster: rootCluster, namespace: '', name })?.metadata.uid === schema,
    );
  }
}

/** An APIResourceSchema is a definition in another form, which is not served until it is bound. */
export function asDefinition({ spec }: ApiResourceSchema, isEnding = false): KubeObject {
  const names = spec?.names;
  const versions = (spec?.versions ?? []).map(({ schema: openAPIV3Schema, ...version }) => ({
    ...version,
    schema: { openAPIV3Schema },
  }));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names?.plural}.${spec?.group}`, generation: 1 },
    spec: { conversion: { strategy: 'None' }, ...spec, versions } as unknown as JsonObject,
    status: {
      acceptedNames: names,
      conditions: ['Established', ...(isEnding ? ['Terminating'] : [])].map((type) => ({ type, status: 'True' })),
      storedVersions: versions.flatMap(({ name, storage }) => (storage ? [name] : [])),
    },
  } as unknown as KubeObject;
}
