import { createHash } from 'node:crypto';
import type { RuleChecker, RuleCompiler } from '@capstan/kinds';
import { type CompiledSchema, compileSchema, fieldsOf, itemsOf, type JsonObject, type KubeObject, maybeFields } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { Conversion, Resource } from '../registry/resource.ts';
import { type ConversionParts, plainConversion } from './conversion.ts';
import { customResource } from './kind.ts';
import { type ConversionRule, type Summary, summarize } from './summary.ts';

/** Converts through a webhook. */
export type WebhookConversion = (parts: ConversionParts, rule: Extract<ConversionRule, { strategy: 'Webhook' }>) => Conversion;

export interface DefinitionOptions {
  readonly entry: CacheEntry;
  readonly rules: RuleCompiler;
  readonly webhook: WebhookConversion;
  /** The revision at which the definition began to be what it is. */
  readonly since: number;
  /** What its objects are called in the store; absent when it is what they are called in paths. */
  readonly storedAs?: string;
  /** What is made of each version before it is served. */
  readonly change?: (resource: Resource) => Resource;
  /** Converts in place of what the definition says. */
  readonly conversion?: (parts: ConversionParts) => Conversion;
}

/** What a schema is when none is given: definitions from before schemas had to be there. */
const anything: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** One definition as it was written last. Everything about it is worked out when somebody needs it: most are never used. */
export class Definition {
  readonly entry: CacheEntry;
  /** As it stands in paths and in the name of the definition, which is `plural.group`. */
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

  /** The versions in which it is served. */
  get served(): readonly string[] {
    const { established, versions } = this.summary;
    return established ? versions.filter(({ served }) => served).map(({ name }) => name) : [];
  }

  /** The kind in a version that is served; undefined when it is not. */
  resource(version: string): Resource | undefined {
    if (!this.#resources.has(version)) this.#resources.set(version, this.served.includes(version) ? this.#serve(version) : undefined);
    return this.#resources.get(version);
  }

  /** The same definition, served otherwise. */
  changed(change: (resource: Resource) => Resource): Definition {
    return new Definition({ ...this.#options, change });
  }

  #serve(version: string): Resource | undefined {
    const made = this.#make(version);
    return made && (this.#options.change?.(made) ?? made);
  }

  /** The kind in the version in which its objects are stored, whether or not it is served. */
  get stored(): Resource | undefined {
    return this.#make(this.summary.storageVersion);
  }

  schema(version: string): CompiledSchema {
    let schema = this.#schemas.get(version);
    if (schema === undefined) this.#schemas.set(version, (schema = compileSchema(schemaIn(this.entry.parse(), version))));
    return schema;
  }

  /** The schema as its author wrote it. It is not kept: it is looked at once, for a document, and most kinds are never used otherwise. */
  writtenSchema(version: string): JsonObject {
    return this.#schemas.get(version)?.schema.json ?? schemaIn(this.entry.parse(), version);
  }

  /** The same for the same schema. */
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
      // A definition that was never changed has never been anything else.
      since: summary.generation === 1 ? 0 : this.since,
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
    if (!this.#rules.has(version)) this.#rules.set(version, this.#options.rules(this.schema(version)));
    return this.#rules.get(version);
  }
}

export function nameOf(entry: CacheEntry): string {
  return entry.key.slice(entry.key.lastIndexOf('/') + 1);
}

export function clusterOf(entry: CacheEntry): string {
  return entry.key.slice(0, entry.key.indexOf('/'));
}

function schemaIn(definition: KubeObject, version: string): JsonObject {
  const found = itemsOf(fieldsOf(definition['spec'])['versions']).find(({ name }) => name === version);
  const schema = maybeFields(fieldsOf(found?.['schema'])['openAPIV3Schema']);
  return (schema as JsonObject | undefined) ?? anything;
}
