import type { Json, JsonObject } from '@capstan/machinery';
import { elementsOf } from './collections.ts';
import { JsonList, JsonMap } from './json.ts';
import { StructValue } from './struct.ts';
import { printTimestamp } from './timestamp.ts';
import { typeNameOf } from './type-name.ts';
import { CelError, Double, Duration, ListValue, MapValue, Optional, Timestamp, TypeValue, Uint, type Value } from './value.ts';

/** Values without a direct JSON form. */
export type Exotic = null | bigint | Uint8Array | Uint | Duration | Timestamp;

/** A value that cannot be converted to JSON. */
class NoJson extends Error {
  override readonly name = 'NoJson';
}

/** No object may be larger. An expression could repeat a large part of one a thousand times. */
const mostCharacters = 8 * 1024 * 1024;

/** Every value takes time and memory, even the shortest. */
const CHARACTERS_PER_VALUE = 8;

/** Converts a value to JSON that shares nothing with it, or returns an error. By default, exotic values are written as in protobuf. */
export function toJson(value: Value, exotic: (value: Exotic) => Json = written): Json | CelError {
  try {
    return new Writer(exotic).plain(value);
  } catch (error) {
    if (error instanceof NoJson) return new CelError(error.message);
    if (error instanceof RangeError) return new CelError(`the value is nested too deeply: ${error.message}`);
    throw error;
  }
}

class Writer {
  readonly #exotic: (value: Exotic) => Json;
  #left = mostCharacters;

  constructor(exotic: (value: Exotic) => Json) {
    this.#exotic = exotic;
  }

  plain(value: Value): Json {
    this.#spend(CHARACTERS_PER_VALUE);
    switch (typeof value) {
      case 'string':
        this.#spend(value.length);
        return value;
      case 'boolean':
      case 'number':
        return value;
      case 'bigint':
        return this.#exotic(value);
    }
    if (value === null || value instanceof Uint8Array || value instanceof Uint) return this.#exotic(value);
    if (value instanceof Duration || value instanceof Timestamp) return this.#exotic(value);
    if (value instanceof Double) return finite(value.value);
    if (value instanceof JsonList || value instanceof JsonMap) return this.#copy(value.json as Json);
    if (value instanceof ListValue) return elementsOf(value).map((element) => this.plain(element));
    if (value instanceof MapValue) return this.#object(value.keys().map((key) => [textKey(key), value.find(key)!]));
    if (value instanceof StructValue) return this.#object([...value.fields]);
    if (value instanceof Optional) return value.value === undefined ? null : this.plain(value.value);
    if (value instanceof TypeValue) throw new NoJson("type conversion not supported for 'type'");
    throw new NoJson(`type conversion error from '${shortName(value)}' to '*structpb.Value'`);
  }

  #object(entries: readonly (readonly [string, Value])[]): JsonObject {
    const result: JsonObject = {};
    for (const [key, value] of entries) this.#set(result, key, this.plain(value));
    return result;
  }

  #copy(json: Json): Json {
    this.#spend(typeof json === 'string' ? json.length + CHARACTERS_PER_VALUE : CHARACTERS_PER_VALUE);
    if (typeof json !== 'object' || json === null) return json;
    if (Array.isArray(json)) return json.map((item) => this.#copy(item));
    const result: JsonObject = {};
    for (const key of Object.keys(json)) this.#set(result, key, this.#copy(json[key]!));
    return result;
  }

  #set(object: JsonObject, key: string, value: Json): void {
    this.#spend(key.length);
    if (key === '__proto__') Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    else object[key] = value;
  }

  #spend(characters: number): void {
    this.#left -= characters;
    if (this.#left < 0) throw new NoJson(`the value is larger than ${mostCharacters} characters`);
  }
}

function textKey(key: Value): string {
  if (typeof key === 'string') return key;
  throw new NoJson(`unsupported type conversion from '${typeNameOf(key)}' to string`);
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new NoJson(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`);
}

function shortName(value: Value): string {
  const name = typeNameOf(value);
  return name.slice(name.lastIndexOf('.') + 1);
}

function written(value: Exotic): Json {
  if (value === null) return null;
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Uint) return value.value > BigInt(Number.MAX_SAFE_INTEGER) ? String(value.value) : Number(value.value);
  return value instanceof Timestamp ? printTimestamp(value) : seconds(value);
}

/** Durations in protobuf's form: `5400s`, `0.5s`. */
function seconds({ nanoseconds }: Duration): string {
  const sign = nanoseconds < 0n ? '-' : '';
  const amount = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(amount % 1_000_000_000n).padStart(9, '0');
  const shown = fraction.replace(/(000){1,3}$/, '');
  return `${sign}${amount / 1_000_000_000n}${shown === '' ? '' : `.${shown}`}s`;
}
