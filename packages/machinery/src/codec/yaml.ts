import { defineMappingTag, defineScalarTag, FAILSAFE_SCHEMA, loadAll, mergeTag, NOT_RESOLVED, YAMLException } from 'js-yaml';
import type { Json, JsonObject } from '../json.ts';
import { duplicateFields } from '../structural/duplicates.ts';
import { type Parts, whole } from '../work/parts.ts';
import { isTooDeep, maxYamlDepth } from './depth.ts';
import { CodecError } from './error.ts';
import { exactInteger, isLargeInteger } from './exact.ts';
import { parseJsonInParts } from './json.ts';
import { setOwn } from './own.ts';
import { yamlError } from './yaml-error.ts';

/** The words that Go's YAML 1.1 reader does not read as strings. */
const words = new Map<string, boolean | null | number>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);

const loadOnly = { identify: (): boolean => false };

const scalarTag = (name: string, accepts: (value: unknown) => boolean): ReturnType<typeof defineScalarTag<unknown>> =>
  defineScalarTag<unknown>(`tag:yaml.org,2002:${name}`, {
    ...loadOnly,
    implicit: true,
    resolve: (source) => {
      const value = resolvePlain(source);
      return accepts(value) ? value : NOT_RESOLVED;
    },
  });

/** Keys keep their types until conversion, because Go rejects some of them. */
const mapTag = defineMappingTag<Map<unknown, unknown>>('tag:yaml.org,2002:map', {
  ...loadOnly,
  create: () => new Map(),
  addPair: (map, key, value) => {
    map.set(key, value);
    return '';
  },
  has: (map, key) => map.has(key),
  keys: (map) => map.keys(),
  get: (map, key) => map.get(key),
});

const schema = FAILSAFE_SCHEMA.withTags(
  scalarTag('null', (value) => value === null),
  scalarTag('bool', (value) => typeof value === 'boolean'),
  scalarTag('int', (value) => Number.isInteger(value) || isLargeInteger(value)),
  scalarTag('float', (value) => typeof value === 'number'),
  mergeTag,
  mapTag,
  // Other tags do not affect JSON: the text is used as is.
  defineScalarTag<string>('', { ...loadOnly, matchByTagPrefix: true, resolve: (source) => source }),
);

/** The first document of the text as JSON, converted as kube-apiserver does. The last of several equal keys wins. */
export function parseYaml(text: string): Json {
  return whole(readAsJson(text)) ?? new Converter().convert(load(text, { json: true }), 0);
}

/** The same, with strict validation's message about duplicate keys. Reads the text once if there are none. */
export function parseYamlStrictly(text: string): StrictYaml {
  return whole(parseYamlInParts(text));
}

export interface StrictYaml {
  readonly value: Json;
  readonly duplicates: string | undefined;
}

/** The same in parts if the text is JSON. Other YAML is short. */
export function* parseYamlInParts(text: string): Parts<StrictYaml> {
  const json = yield* readAsJson(text);
  if (json !== undefined) return { value: json, duplicates: undefined };
  let loaded: unknown;
  checkLength(text);
  try {
    loaded = loadAll(text, { schema, maxDepth: maxYamlDepth })[0];
  } catch (error) {
    if (!isDuplicate(error)) throw yamlError(error, text);
    return { value: parseYaml(text), duplicates: yamlDuplicates(text) };
  }
  return { value: new Converter().convert(loaded, 0), duplicates: undefined };
}

/** Most "YAML" is JSON, which parses many times faster. Undefined if a YAML reader might read the text differently. */
function* readAsJson(text: string): Parts<Json | undefined> {
  if (!text.startsWith('{') || /\d[eE]\+?\d{3}/.test(text)) return undefined;
  let value: Json;
  try {
    value = yield* parseJsonInParts(text);
  } catch (error) {
    if (error instanceof CodecError) return undefined;
    throw error;
  }
  yield;
  return (yield* duplicateFields(text, value)).length === 0 ? value : undefined;
}

/** Reading YAML is slow and blocks every other request. */
const longestYaml = 256 * 1024;

function checkLength(text: string): void {
  const { length } = text;
  if (length <= longestYaml) return;
  if (whole(isTooDeep(text))) throw new CodecError(`yaml: exceeded max depth of ${maxYamlDepth}`);
  throw new CodecError(`yaml: document has ${length} characters, the limit for YAML is ${longestYaml}: send it as JSON`);
}

function isDuplicate(error: unknown): error is YAMLException {
  return error instanceof YAMLException && error.reason === 'duplicated mapping key';
}

/** At most this many duplicate keys are named… */
const mostDuplicates = 100;
/** …and fewer in a long text: it is read again for each one. */
const mostReadForDuplicates = 256 * 1024;

/** Strict validation's single message about all duplicate keys; undefined if there are none. */
export function yamlDuplicates(text: string): string | undefined {
  const found: string[] = [];
  let read = 0;
  checkLength(text);
  // The reader stops at the first duplicate, so each is renamed to let it continue to the next.
  for (let rest = text; found.length < mostDuplicates && read < mostReadForDuplicates; read += text.length) {
    try {
      loadAll(rest, { schema, maxDepth: maxYamlDepth });
      break;
    } catch (error) {
      if (!isDuplicate(error)) throw yamlError(error, text);
      const { position, line } = error.mark!;
      // The position is that of the key's text, after an opening quote if there is one.
      const mark = rest[position - 1] ?? '';
      const isQuoted = mark === '"' || mark === "'";
      const length = isQuoted ? rest.indexOf(mark, position) - position : /^[^:,}\n]*/.exec(rest.slice(position))![0].length;
      const key = rest.slice(position, position + length);
      const name = isQuoted ? key : resolvePlain(key.trim());
      found.push(`  line ${line + 1}: key ${typeof name === 'string' ? JSON.stringify(name) : String(name)} already set in map`);
      const other = `${repeatedKey}${found.length}`;
      rest = rest.slice(0, position) + (isQuoted ? other : `"${other}"`) + rest.slice(position + length);
    }
  }
  return found.length === 0 ? undefined : `yaml: unmarshal errors:\n${found.join('\n')}`;
}

/** A key that nobody writes. */
const repeatedKey = '\u{10ffff}';

function load(text: string, options: { json: boolean }): unknown {
  checkLength(text);
  try {
    return loadAll(text, { schema, maxDepth: maxYamlDepth, ...options })[0];
  } catch (error) {
    throw yamlError(error, text);
  }
}

const floatPattern = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

/** An unquoted scalar as Go's reader interprets it; a time stays a string. */
function resolvePlain(source: string): unknown {
  const word = words.get(source);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(source)) return source;
  const plain = source.replaceAll('_', '');
  const integer = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/.exec(plain);
  if (integer !== null) {
    const digits = integer[2]!.replace(/^0(?=[0-7])/, '0o');
    const number = (integer[1] === '-' ? -1 : 1) * Number(digits);
    if (Number.isSafeInteger(number)) return number;
    return exactInteger(integer[1] === '-' ? -BigInt(digits) : BigInt(digits), number);
  }
  return floatPattern.test(plain) ? Number(plain) : source;
}

/** Copies loaded values into plain objects. The target of an alias is copied each time, so that no two places share it. */
class Converter {
  #count = 0;
  #fromAliases = 0;
  #aliasDepth = 0;
  readonly #seen = new Set<object>();

  convert(value: unknown, depth: number): Json {
    this.#count++;
    if (this.#aliasDepth > 0) this.#fromAliases++;
    if (this.#fromAliases > 100 && this.#count > 1000 && this.#fromAliases / this.#count > allowedAliasRatio(this.#count)) {
      throw new CodecError('yaml: document contains excessive aliasing');
    }
    if (typeof value === 'number' && !Number.isFinite(value)) throw new CodecError(`json: unsupported value: ${printFloat(value)}`);
    if (typeof value !== 'object' || value === null) return (value ?? null) as Json;
    // An anchor that contains itself never ends.
    if (depth > maxYamlDepth) throw new CodecError('yaml: document contains excessive aliasing');
    const repeated = this.#seen.has(value);
    if (repeated) this.#aliasDepth++;
    else this.#seen.add(value);
    const converted = Array.isArray(value)
      ? value.map((item) => this.convert(item, depth + 1))
      : this.#map(value as Map<unknown, unknown>, depth);
    if (repeated) this.#aliasDepth--;
    return converted;
  }

  #map(map: Map<unknown, unknown>, depth: number): JsonObject {
    const object: JsonObject = {};
    for (const [key, value] of map) setOwn(object, keyText(key, value), this.convert(value, depth + 1));
    return object;
  }
}

/** Small documents may consist almost entirely of aliases, large ones hardly at all: the limits of Go's reader. */
function allowedAliasRatio(count: number): number {
  const low = 400_000;
  const high = 4_000_000;
  if (count <= low) return 0.99;
  return count >= high ? 0.1 : 0.99 - (0.89 * (count - low)) / (high - low);
}

function keyText(key: unknown, value: unknown): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'boolean') return String(key);
  if (typeof key === 'number') return Number.isFinite(key) ? String(key) : printFloat(key);
  if (key === null) throw new CodecError(`unsupported map key of type: %!s(<nil>), key: <nil>, value: ${JSON.stringify(value)}`);
  throw new CodecError(`yaml: invalid map key: ${JSON.stringify(key)}`);
}

function printFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
