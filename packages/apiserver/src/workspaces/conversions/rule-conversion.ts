import { hash } from 'node:crypto';
import type { ApiConversion } from '@capstan/api';
import { type FieldError, FieldPath, fieldError, type KubeObject, StatusError, status } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import { type ConversionParts, renew, typePrefix, versionOf } from '../../crds/conversion.ts';
import { Pace } from '../../registry/pace.ts';
import { type Evaluated, printHeld, type Quarantine } from '../../registry/quarantine.ts';
import { type Conversion, originOf } from '../../registry/resource.ts';
import { compileConversions } from './compile.ts';
import { ConversionTable, RuleFailure } from './table.ts';

/** The rules of an APIConversion, and what keeps them from being evaluated. */
interface Rules {
  readonly spec: ApiConversion['spec'];
  readonly quarantine: Quarantine;
}

/** Copies of a conversion for each identity of its export have the same rules. */
const identityOf = (spec: unknown): string => `conversion ${hash('sha256', JSON.stringify(spec ?? null))}`;

/** The rules of an APIConversion, for the quarantine. */
export function evaluatedConversion({ metadata, spec }: KubeObject): Evaluated {
  return { identity: identityOf(spec), name: `the APIConversion ${JSON.stringify(metadata.name)}` };
}

/** Conversion by the rules in the `spec` of an APIConversion, compiled on first use. */
export function ruleConversion({ spec, quarantine }: Rules): (parts: ConversionParts) => Conversion {
  let table: ConversionTable | undefined;
  const identity = identityOf(spec);
  return (parts) => {
    const { group, names } = parts.summary;
    const name = `the APIConversion of ${JSON.stringify(`${names.plural}.${group}`)}`;
    const made = new Converted(parts, { table: () => (table ??= tableOf(spec, parts)), quarantine, evaluated: { identity, name } });
    return {
      applies: (entry) => parts.isOlder(entry) || made.isOther(entry),
      toStorage: (object) => made.toStorage(object),
      fromStorage: (object, entry) => made.fromStorage(object, entry),
      ahead: (entries, pace) => made.ahead(entries, pace),
    };
  };
}

function tableOf(spec: ApiConversion['spec'], { summary, schemaOf }: ConversionParts): ConversionTable {
  const names = new Set(summary.versions.map(({ name }) => name));
  const { versions, errors } = compileConversions(spec, (version) => (names.has(version) ? schemaOf(version).schema : undefined));
  if (errors.length > 0) throw broken(`the rules of its APIConversion: ${errors.map(printed).join(', ')}`);
  return new ConversionTable(versions);
}

interface Source {
  readonly table: () => ConversionTable;
  readonly quarantine: Quarantine;
  readonly evaluated: Evaluated;
}

/** One version of a kind whose objects are converted by rules. The result for an object is kept as long as the object. */
class Converted {
  readonly #parts: ConversionParts;
  readonly #source: Source;
  readonly #prefix: string;
  readonly #made = new WeakMap<CacheEntry, string | StatusError>();

  constructor(parts: ConversionParts, source: Source) {
    this.#parts = parts;
    this.#source = source;
    this.#prefix = typePrefix(parts.summary, parts.version.name);
  }

  isOther(entry: CacheEntry): boolean {
    return !entry.text.startsWith(this.#prefix);
  }

  /**
   * Rejects objects that cannot be converted to every served version, since they would break every list in that version. Objects that are
   * being deleted are exempt.
   */
  toStorage(object: KubeObject): KubeObject {
    const { summary, version } = this.#parts;
    const stored = version.name === summary.storageVersion ? object : this.#written(object, summary.storageVersion);
    if (object.metadata.deletionTimestamp !== undefined) return stored;
    for (const { name, served } of summary.versions) if (served && name !== summary.storageVersion) this.#written(stored, name);
    return stored;
  }

  fromStorage(object: KubeObject, entry: CacheEntry): KubeObject {
    if (!this.isOther(entry)) return renew(object, this.#parts.schemaOf);
    const made = this.#convertOnce(originOf(entry));
    if (made instanceof StatusError) throw made;
    // Take revision and labels from the entry to show, which may be a newer or differently labelled view of the converted one.
    const converted = JSON.parse(made) as KubeObject;
    const { annotations } = converted.metadata;
    const { annotations: _, ...metadata } = object.metadata;
    converted.metadata = annotations === undefined ? metadata : { ...metadata, annotations };
    return converted;
  }

  /**
   * Converts one object immediately, and many in turns with other requests. Rejects if any object cannot be converted: a list must be
   * complete.
   */
  ahead(entries: readonly CacheEntry[], pace = new Pace()): Promise<void> | undefined {
    const others = entries.filter((entry) => this.isOther(entry)).map(originOf);
    const missing = others.filter((entry) => !this.#made.has(entry));
    if (missing.length > 1) return this.#inTurns(missing, pace).then(() => this.#check(others));
    const failure = others.map((entry) => this.#convertOnce(entry)).find((made) => made instanceof StatusError);
    return failure && Promise.reject(failure);
  }

  #check(entries: readonly CacheEntry[]): void {
    for (const entry of entries) {
      const made = this.#convertOnce(entry);
      if (made instanceof StatusError) throw made;
    }
  }

  async #inTurns(entries: readonly CacheEntry[], pace: Pace): Promise<void> {
    for (const entry of entries) {
      this.#convertOnce(entry);
      const pausing = pace.pause();
      if (pausing !== undefined) await pausing;
    }
  }

  #convertOnce(entry: CacheEntry): string | StatusError {
    let made = this.#made.get(entry);
    if (made === undefined) this.#made.set(entry, (made = this.#read(entry.parse())));
    return made;
  }

  #read(object: KubeObject): string | StatusError {
    const { schemaOf, version, summary } = this.#parts;
    try {
      return JSON.stringify(this.#converted(renew(object, schemaOf), version.name));
    } catch (error) {
      if (error instanceof StatusError) return error;
      if (error instanceof RuleFailure)
        return broken(`${summary.names.kind} "${object.metadata.name}": ${error.path.join('.')}: ${error.message}`);
      throw error;
    }
  }

  #written(object: KubeObject, version: string): KubeObject {
    try {
      return this.#converted(structuredClone(object), version);
    } catch (error) {
      if (!(error instanceof RuleFailure)) throw error;
      const { group, names } = this.#parts.summary;
      const why = fieldError.invalid(FieldPath.of(...error.path), null, `cannot be converted to ${version}: ${error.message}`);
      throw status.invalidObject({ group, kind: names.kind }, object.metadata.name ?? '', [why]);
    }
  }

  /** Modifies the object. */
  #converted(object: KubeObject, version: string): KubeObject {
    const { schemaOf, summary } = this.#parts;
    const { table, quarantine, evaluated } = this.#source;
    const held = quarantine.held(evaluated.identity);
    if (held !== undefined) throw broken(printHeld(held));
    quarantine.mark(evaluated);
    table().convert(object, versionOf(object), version);
    object.apiVersion = `${summary.group}/${version}`;
    return renew(object, schemaOf);
  }
}

const printed = ({ field, body }: FieldError): string => `${field}: ${body}`;

function broken(why: string): StatusError {
  return new StatusError({ code: 500, reason: 'InternalError', message: `conversion failed: ${why}` });
}
