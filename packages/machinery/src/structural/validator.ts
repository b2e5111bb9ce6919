import { isLargeInteger } from '../codec/exact.ts';
import * as fieldError from '../field/error.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { formatCheck } from './formats.ts';
import { isGoInteger } from './go-number.ts';
import { Junctors } from './junctors.ts';
import { own } from './own.ts';
import type { Run } from './run.ts';
import { formatRule, type NumberCheck, numberCheck, type TextCheck, textCheck } from './scalars.ts';
import type { Schema } from './schema.ts';
import { isSame, isUnchanged, oldItems } from './unchanged.ts';

/** Checks values against one schema. Built once; validators of nested schemas are built when a value first needs them. */
export class Validator {
  readonly #schema: Schema;
  readonly #types: readonly string[];
  readonly #formatted: boolean;
  readonly #junctors: Junctors | undefined;
  readonly #text: TextCheck | undefined;
  readonly #format: TextCheck | undefined;
  readonly #number: NumberCheck | undefined;
  readonly #properties = new Map<string, Validator>();
  #allowed: Allowed | undefined;
  #items: Validator | undefined;
  #additional: Validator | undefined;

  constructor(schema: Schema) {
    this.#schema = schema;
    this.#types = schema.intOrString ? ['integer', 'string'] : schema.type === '' ? [] : [schema.type];
    this.#formatted = formatCheck(schema.format) !== undefined;
    this.#junctors = Junctors.of(schema, (inner) => new Validator(inner));
    this.#text = textCheck(schema);
    this.#format = formatRule(schema);
    this.#number = numberCheck(schema);
  }

  /** Checks a value; errors in an unchanged value are ignored. */
  check(value: Json, old: Json | undefined, run: Run): void {
    if (run.isFull) return;
    const before = run.errors.length;
    this.inspect(value, old, run);
    if (run.ratchets && old !== undefined && run.errors.length > before && isUnchanged(value, old, this.#schema))
      run.errors.length = before;
  }

  /** Checks a value, whether it changed or not. */
  inspect(value: Json, old: Json | undefined, run: Run): void {
    if (run.trying > 0) run.step();
    if (value === null) {
      this.#checkNull(run);
      return;
    }
    if (this.#types.length > 0 || this.#formatted) this.#checkType(value, run);
    // Counts every part of a schema that applies, to find the closest of several alternatives.
    run.matches += 4;
    this.#junctors?.check(value, old, run);
    if (typeof value === 'string') {
      run.matches += this.#formatted ? 2 : 1;
      this.#text?.(value, run);
      this.#format?.(value, run);
    } else if (typeof value === 'number' || isLargeInteger(value)) {
      run.matches += 2;
      this.#number?.(Number(value), run);
    } else if (Array.isArray(value)) {
      run.matches += 2;
      this.#checkItems(value, old, run);
    }
    if (this.#schema.enumeration.length > 0) this.#checkEnumeration(value, run);
    if (isObject(value)) {
      run.matches++;
      this.#checkFields(value, isObject(old) ? old : undefined, run);
    }
  }

  #checkNull(run: Run): void {
    if (this.#types.length > 0 && !this.#schema.nullable) this.#refuseType('null', run);
    else run.matches++;
    if (this.#schema.enumeration.length > 0) this.#checkEnumeration(null, run);
  }

  #checkType(value: NonNullable<Json>, run: Run): void {
    run.matches++;
    const types = this.#types;
    const type = typeName(value);
    const fits = types.includes(type) || (type === 'integer' && types.includes('number'));
    if (this.#formatted && !types.includes('number') && !types.includes('integer')) {
      // The format's own check handles strings; other values are classified by their Go format.
      if (typeof value === 'string' || Array.isArray(value) || fits) {
        run.matches++;
        return;
      }
      const format = type === 'integer' ? 'int64' : type === 'number' ? 'float64' : '';
      const why = `${run.name} in body must be of type ${this.#schema.format}: ${fieldError.quote(format)}`;
      run.add(fieldError.typeInvalid(run.at(), format, why));
      return;
    }
    if (fits) run.matches++;
    else this.#refuseType(type, run);
  }

  #refuseType(type: string, run: Run): void {
    const why = `${run.name} in body must be of type ${this.#types.join(',')}: ${fieldError.quote(type)}`;
    run.add(fieldError.typeInvalid(run.at(), type, why));
  }

  #checkEnumeration(value: Json, run: Run): void {
    const allowed = (this.#allowed ??= allowedBy(this.#schema.enumeration));
    if (value !== null && typeof value !== 'object') {
      if (allowed.plain.has(value)) return;
    } else if (value !== null) {
      run.step(allowed.others.length);
      for (const other of allowed.others) if (isSame(other, value)) return;
    }
    run.add(fieldError.notSupported(run.at(), value, allowed.shown));
  }

  #checkItems(list: Json[], old: Json | undefined, run: Run): void {
    const { items, minItems, maxItems, uniqueItems } = this.#schema;
    if (items !== undefined) {
      const validator = (this.#items ??= new Validator(items));
      const correlated = run.ratchets && old !== undefined ? oldItems(old, this.#schema) : undefined;
      for (let index = 0; index < list.length; index++) {
        run.enter(index);
        validator.check(list[index]!, correlated?.(list[index]!), run);
        run.leave();
      }
    }
    if (minItems !== undefined && list.length < minItems)
      run.add(fieldError.invalid(run.at(), list.length, `${run.name} in body should have at least ${minItems} items`));
    if (maxItems !== undefined && list.length > maxItems) run.add(fieldError.tooMany(run.at(), list.length, maxItems));
    if (uniqueItems && hasDuplicates(list)) run.add(fieldError.invalid(run.at(), '', `${run.name} in body shouldn't contain duplicates`));
  }

  #checkFields(object: JsonObject, old: JsonObject | undefined, run: Run): void {
    const { properties, additional, required, minProperties, maxProperties } = this.#schema;
    let count = 0;
    for (const key in object) {
      count++;
      const property = properties.get(key);
      if (property !== undefined) {
        this.#checkField(this.#property(key, property), { key, value: object[key]!, old }, run);
      } else if (additional?.schema !== undefined) {
        this.#checkField((this.#additional ??= new Validator(additional.schema)), { key, value: object[key]!, old }, run);
      } else if (additional?.allowed === false) {
        run.add(fieldError.invalid(run.at(), '', `${run.name}.${key} in body is a forbidden property`));
      }
    }
    if (minProperties !== undefined && count < minProperties)
      run.add(fieldError.invalid(run.at(), count, `${run.name} in body should have at least ${minProperties} properties`));
    if (maxProperties !== undefined && count > maxProperties) run.add(fieldError.tooMany(run.at(), count, maxProperties));
    for (const name of required) {
      if (Object.hasOwn(object, name)) continue;
      if (run.isFull) return;
      run.add(fieldError.required(run.at(name)));
    }
  }

  #checkField(validator: Validator, field: { key: string; value: Json; old: JsonObject | undefined }, run: Run): void {
    const { key, value, old } = field;
    // The old object was converted to this version, so an equal apiVersion or kind does not mean that it is unchanged.
    const before = old === undefined || (run.atRoot && (key === 'kind' || key === 'apiVersion')) ? undefined : own(old, key);
    run.enter(key);
    validator.check(value, before, run);
    run.leave();
  }

  #property(name: string, schema: Schema): Validator {
    let validator = this.#properties.get(name);
    if (validator === undefined) this.#properties.set(name, (validator = new Validator(schema)));
    return validator;
  }
}

/** The values of an enumeration: those found by lookup, and those that must be compared. */
interface Allowed {
  readonly plain: ReadonlySet<Json>;
  readonly others: readonly Json[];
  readonly shown: readonly string[];
}

function allowedBy(enumeration: readonly Json[]): Allowed {
  return {
    plain: new Set(enumeration.filter((value) => typeof value !== 'object')),
    others: enumeration.filter((value) => typeof value === 'object' && value !== null),
    shown: enumeration.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
  };
}

function typeName(value: NonNullable<Json>): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return isGoInteger(value) ? 'integer' : 'number';
  if (isLargeInteger(value)) return 'integer';
  return typeof value;
}

function hasDuplicates(list: readonly Json[]): boolean {
  const seen = new Set<string>();
  for (const item of list) {
    const text = JSON.stringify(item);
    if (seen.has(text)) return true;
    seen.add(text);
  }
  return false;
}
