import type { JsonObject, KubeObject } from '@capstan/machinery';
import { CacheEntry, servedText, storedText } from '../../cache/entry.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { Definition, type WebhookConversion } from '../../crds/definition.ts';
import type { RuleCompiler } from '../../crds/rules/rules.ts';
import { fieldsOf, itemsOf, textOf } from '../../kinds/workloads/reading.ts';
import { rootCluster } from '../names.ts';
import { boundSchemasCluster } from '../tree.ts';
import type { BoundResource } from './bound-resources.ts';
import { rootResourceSchemas } from './definitions.ts';
import type { PlatformKinds } from './platform-kinds.ts';

export const apiResourceSchemas = { group: 'apis.kcp.io', resource: 'apiresourceschemas' } as const;

/** What the copy of a schema is called. */
const boundSchemaName = ({ schema, resource, group }: BoundResource): string => `${schema}.${resource}.${group || 'core'}`;

/** How many definitions are remembered. */
const capacity = 5_000;

const keyOf = ({ schema, identity, isEnding }: BoundResource): string => `${schema}/${identity}/${isEnding === true}`;

interface Options {
  readonly cache: WatchCache;
  readonly platform: PlatformKinds;
  readonly rules: RuleCompiler;
  readonly webhook: WebhookConversion;
}

/** Makes definitions of bound schemas. One schema under one identity is one definition, however many workspaces have it. */
export class BoundDefinitions {
  readonly #options: Options;
  readonly #made = new Map<string, Definition>();
  readonly #platformSchemas: readonly string[];

  constructor(options: Options) {
    this.#options = options;
    this.#platformSchemas = rootResourceSchemas().map(({ metadata }) => metadata.name!);
  }

  /** The definition of a bound kind; undefined when its schema is not there. */
  readonly of = (bound: BoundResource): Definition | undefined => {
    if (this.#isPlatform(bound)) return this.#options.platform.all.get(bound.group, bound.resource);
    const known = this.#made.get(keyOf(bound));
    if (known !== undefined) return known;
    const at = { ...apiResourceSchemas, cluster: boundSchemasCluster, namespace: '', name: boundSchemaName(bound) };
    const copy = this.#options.cache.get(at);
    return copy && this.#remember(copy, bound);
  };

  /** The definition of a schema where it was made, for objects under an identity. It is the same as that of its copy. */
  ofSchema(schema: KubeObject, identity: string): Definition {
    const { metadata, spec } = schema;
    const { group, names } = fieldsOf(spec);
    const uid = metadata.uid ?? '';
    const bound = { group: textOf(group), resource: textOf(fieldsOf(names)['plural']), schema: uid, identity };
    if (this.#isPlatform(bound)) return this.#options.platform.all.get(bound.group, bound.resource)!;
    return this.#made.get(keyOf(bound)) ?? this.#remember(schema, bound);
  }

  #remember(schema: KubeObject, bound: BoundResource): Definition {
    if (this.#made.size >= capacity) this.#made.clear();
    const definition = this.#make(schema, bound);
    this.#made.set(keyOf(bound), definition);
    return definition;
  }

  #make(schema: KubeObject, { identity, isEnding }: BoundResource): Definition {
    const { cache: _, platform: __, ...parts } = this.#options;
    const object = asDefinition(schema, isEnding);
    const key = `${boundSchemasCluster}//${object.metadata.name}`;
    const entry = new CacheEntry(key, servedText(key, storedText(object), 0), 0);
    return new Definition({
      ...parts,
      entry,
      since: 0,
      storedAs: `${object.metadata.name!.slice(0, object.metadata.name!.indexOf('.'))}:${identity}`,
    });
  }

  /** The root workspace's own schemas are known by their UIDs: nobody else can have made them. */
  #isPlatform({ schema }: BoundResource): boolean {
    return this.#platformSchemas.some(
      (name) => this.#options.cache.get({ ...apiResourceSchemas, cluster: rootCluster, namespace: '', name })?.metadata.uid === schema,
    );
  }
}

/** An APIResourceSchema is a definition that differs in its form and is not served by being there. */
export function asDefinition(schema: KubeObject, isEnding = false): KubeObject {
  const spec = fieldsOf(schema['spec']);
  const names = fieldsOf(spec['names']);
  const versions = itemsOf(spec['versions']).map(({ schema: openAPIV3Schema, ...version }) => ({
    ...version,
    schema: { openAPIV3Schema },
  }));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${String(names['plural'])}.${String(spec['group'])}`, generation: 1 },
    spec: { conversion: { strategy: 'None' }, ...spec, versions } as unknown as JsonObject,
    status: {
      acceptedNames: names,
      conditions: ['Established', ...(isEnding ? ['Terminating'] : [])].map((type) => ({ type, status: 'True' })),
      storedVersions: itemsOf(spec['versions']).flatMap(({ name, storage }) => (storage === true ? [name] : [])),
    },
  } as unknown as KubeObject;
}
