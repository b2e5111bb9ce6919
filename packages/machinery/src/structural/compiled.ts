import { createHash } from 'node:crypto';
import type { FieldError } from '../field/error.ts';
import type { JsonObject } from '../json.ts';
import type { ObjectType } from '../schema/type.ts';
import { contains } from './contains.ts';
import { applyDefaults, dropNulls } from './defaults.ts';
import { readEmbeddedMetadata, validateEmbedded } from './embedded.ts';
import { validateListTypes } from './list-types.ts';
import { prune, UnknownFields } from './prune.ts';
import { Run } from './run.ts';
import { readSchema, type Schema } from './schema.ts';
import { typeOfResource } from './to-type.ts';
import { Validator } from './validator.ts';

const hasAlternatives = contains(({ allOf, anyOf, oneOf, not }) => allOf.length + anyOf.length + oneOf.length > 0 || not !== undefined);

/** A custom resource's schema, ready for use. Its parts are built on first use and shared by everyone with the same schema. */
export class CompiledSchema {
  readonly hash: string;
  readonly #json: JsonObject;
  #schema: Schema | undefined;
  #type: ObjectType | undefined;
  #validator: Validator | undefined;
  #status: Validator | undefined;

  constructor(json: JsonObject, hash: string) {
    this.#json = json;
    this.hash = hash;
  }

  get schema(): Schema {
    return (this.#schema ??= readSchema(this.#json));
  }

  get type(): ObjectType {
    return (this.#type ??= typeOfResource(this.schema, ''));
  }

  /** Drops unknown fields, and nulls that are not allowed; returns the paths of unknown fields. Changes the object. */
  prune(object: JsonObject): string[] {
    const unknown = new UnknownFields();
    prune(object, this.schema, unknown);
    dropNulls(object, this.schema);
    return unknown.paths.sort();
  }

  /** Decodes the metadata of embedded resources. */
  readEmbedded(object: JsonObject): readonly string[] {
    return readEmbeddedMetadata(object, this.schema);
  }

  /** Returns false if the defaults exceed the size limit; some are then missing. */
  applyDefaults(object: JsonObject): boolean {
    return applyDefaults(object, this.schema);
  }

  /** Returns the errors in an object. With an old object, unchanged errors are tolerated. Does not evaluate CEL rules. */
  validate(object: JsonObject, old?: JsonObject): FieldError[] {
    const errors = this.#errors(object, old);
    errors.push(...validateEmbedded(object, this.schema));
    this.#checkLists(object, old, errors);
    return errors;
  }

  /** Returns the errors in the status of an object of which only the status may change. */
  validateStatus(object: JsonObject, old: JsonObject): FieldError[] {
    const schema = this.schema.properties.get('status');
    const run = new Run('status', true);
    const { status } = object;
    if (schema !== undefined && status !== undefined) (this.#status ??= new Validator(schema)).check(status, old['status'], run);
    this.#checkLists(object, old, run.errors);
    return run.errors;
  }

  #errors(object: JsonObject, old: JsonObject | undefined): FieldError[] {
    const validator = (this.#validator ??= new Validator(this.schema));
    const strict = new Run('', false);
    // Most updates are valid without looking at the old object. Not with alternatives: the tolerated errors decide which of them match.
    if (old === undefined || !hasAlternatives(this.schema)) {
      validator.check(object, undefined, strict);
      if (old === undefined || strict.errors.length === 0) return strict.errors;
    }
    const run = new Run('', true);
    validator.check(object, old, run);
    return run.errors;
  }

  #checkLists(object: JsonObject, old: JsonObject | undefined, errors: FieldError[]): void {
    const found = validateListTypes(object, this.schema);
    if (found.length > 0 && (old === undefined || validateListTypes(old, this.schema).length === 0)) errors.push(...found);
  }
}

const compiled = new Map<string, WeakRef<CompiledSchema>>();
const forget = new FinalizationRegistry<string>((hash) => {
  if (compiled.get(hash)?.deref() === undefined) compiled.delete(hash);
});

/** The compiled form of a schema: one instance per text, for as long as anyone references it. */
export function compileSchema(json: JsonObject): CompiledSchema {
  const hash = createHash('sha256').update(JSON.stringify(json)).digest('base64url');
  const known = compiled.get(hash)?.deref();
  if (known !== undefined) return known;
  const fresh = new CompiledSchema(json, hash);
  compiled.set(hash, new WeakRef(fresh));
  forget.register(fresh, hash);
  return fresh;
}
