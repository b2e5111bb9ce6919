import { createHash } from 'node:crypto';
import type { ClusterId } from '@capstan/api';
import type { RuleChecker, RuleCompiler } from '@capstan/kinds';
import { type CompiledSchema, compileSchema, fieldsOf, itemsOf, type JsonObject, type KubeObject, maybeFields } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';
import type { Conversion, Resource } from '../registry/resource.ts';
import { type ConversionParts, plainConversion } from './conversion.ts';
import { customResource } from './kind.ts';
import { type ConversionRule, type Summary, summarize } from './summary.ts';

/** Creates the conversion for a kind with strategy Webhook. */
export type WebhookConversion = (parts: ConversionParts, rule: Extract<ConversionRule, { strategy: 'Webhook' }>) => Conversion;

export interface DefinitionOptions {
  readonly entry: CacheEntry;
  readonly rules: RuleCompiler;
  readonly webhook: WebhookConversion;
  /** A revision since which the spec has not changed. */
  readonly since: number;
  /** Whether an object may not match the spec, if the revision is not enough to say so. */
  readonly isOlder?: (entry: CacheEntry) => boolean;
  /** The name of the resource in the store; undefined if it is the same as in paths. */
  readonly storedAs?: string;
  /** Modifies each version before it is served. */
  readonly change?: (resource: Resource) => Resource;
  /** Replaces the conversion with strategy None. */
  readonly conversion?: (parts: ConversionParts) => Conversion;
}

/** The schema for definitions without one, from before schemas were required. */
const anything: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** One definition in its current state. Everything is computed when first needed, because most definitions are never used. */
export class Definition {
  readonly entry: CacheEntry;
  /** As in paths and in the name of the definition, which is `plural.group`. */
  readonly plural: string;
  readonly group: string;
  readonly since: number;
  readonly #options: DefinitionOptions;
  #summary: Summary | undefined;
  readonly #resources = new Map<string, Resource | undefined>();
  readonly #schemas = new Map<string, CompiledSchema>();
  readonly #rules = new Map<string, RuleChecker | undefined>();
  readonly #hashes = new Map<string, string>();

  constructor(options: DefinitionOptions) {
    this.#options = options;
    this.entry = options.entry;
    const name = nameOf(options.entry);
    const dot = name.indexOf('.');
    this.plural = name.slice(0, dot);
    this.group = name.slice(dot + 1);
    this.since = options.since;
  }

  get summary(): Summary {
    return (this.#summary ??= summarize(this.entry.parse()));
  }

  /** The names of the served versions. */
  get served(): readonly string[] {
    const { established, versions } = this.summary;
    return established ? versions.filter(({ served }) => served).map(({ name }) => name) : [];
  }

  /** The kind in a version; undefined if the version is not served. */
  resource(version: string): Resource | undefined {
    if (!this.#resources.has(version)) this.#resources.set(version, this.served.includes(version) ? this.#serve(version) : undefined);
    return this.#resources.get(version);
  }

  /** The same definition with its served resources modified. */
  changed(change: (resource: Resource) => Resource): Definition {
    return new Definition({ ...this.#options, change });
  }

  #serve(version: string): Resource | undefined {
    const made = this.#make(version);
    return made && (this.#options.change?.(made) ?? made);
  }

  /** The kind in its storage version, whether or not that is served. */
  get stored(): Resource | undefined {
    return this.#make(this.summary.storageVersion);
  }

  schema(version: string): CompiledSchema {
    let schema = this.#schemas.get(version);
    if (schema === undefined) this.#schemas.set(version, (schema = compileSchema(schemaIn(this.entry.parse(), version))));
    return schema;
  }

  /** The schema as written by its author. It is not cached: it is read once, for OpenAPI, and most kinds are never used otherwise. */
  writtenSchema(version: string): JsonObject {
    return this.#schemas.get(version)?.schema.json ?? schemaIn(this.entry.parse(), version);
  }

  /** Equal schemas have equal hashes. */
  schemaHash(version: string): string {
    let hash = this.#hashes.get(version);
    if (hash === undefined) {
      hash = createHash('sha256')
        .update(JSON.stringify(this.writtenSchema(version)))
        .digest('hex');
      this.#hashes.set(version, hash);
    }
    return hash;
  }

  #make(name: string): Resource | undefined {
    const version = this.summary.versions.find((candidate) => candidate.name === name);
    if (version === undefined) return undefined;
    const { summary } = this;
    const parts: ConversionParts = {
      summary,
      version,
      cluster: clusterOf(this.entry),
      isOlder: this.#options.isOlder ?? olderThan(summary.generation === 1 ? 0 : this.since),
      schemaOf: (other) => this.schema(other),
    };
    return customResource({
      summary,
      version,
      schema: () => this.schema(name),
      written: { schema: () => this.writtenSchema(name), hash: () => this.schemaHash(name) },
      rules: () => this.#rulesOf(name),
      ...(this.#options.storedAs !== undefined && { storedAs: this.#options.storedAs }),
      conversion: this.#conversion(parts),
    });
  }

  #conversion(parts: ConversionParts): Conversion {
    const { conversion } = this.summary;
    if (conversion.strategy === 'Webhook') return this.#options.webhook(parts, conversion);
    return this.#options.conversion?.(parts) ?? plainConversion(parts);
  }

  #rulesOf(version: string): RuleChecker | undefined {
    if (!this.#rules.has(version)) this.#rules.set(version, this.#options.rules(this.schema(version), nameOf(this.entry)));
    return this.#rules.get(version);
  }
}

/** At generation 1 the spec has never changed, so all objects match it: there, `since` is 0. */
const olderThan =
  (since: number) =>
  ({ revision }: CacheEntry): boolean =>
    revision <= since;

export function nameOf(entry: CacheEntry): string {
  return entry.key.slice(entry.key.lastIndexOf('/') + 1);
}

export const clusterOf = ({ key }: CacheEntry): ClusterId => clusterOfKey(key);

function schemaIn(definition: KubeObject, version: string): JsonObject {
  const found = itemsOf(fieldsOf(definition['spec'])['versions']).find(({ name }) => name === version);
  const schema = maybeFields(fieldsOf(found?.['schema'])['openAPIV3Schema']);
  return (schema as JsonObject | undefined) ?? anything;
}
