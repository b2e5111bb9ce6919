import type { Json, JsonObject } from '@capstan/machinery';
import { builtinTypes } from '@capstan/machinery';
import type { Random } from './random.ts';

type ObjectType = ReturnType<ReturnType<typeof builtinTypes>['object']>;
type Type = Parameters<typeof fieldValue>[1];

const words = [
  '',
  'a',
  'default',
  'x-1',
  'A.B/c',
  '-',
  '..',
  '0',
  '-1',
  '1e400',
  '100m',
  '1Gi',
  '9223372036854775808',
  'true',
  'null',
  '2026-01-01T00:00:00Z',
  '1s',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '\u0000',
  '\ud800',
  'é',
  '😀',
  'http://127.0.0.1:1/',
  'https://[::1]:1/x',
  '{{ }}',
  '$(A)',
  '%s%n',
  '../../etc/passwd',
  'Always',
  'ClusterIP',
  'RollingUpdate',
  '10.0.0.1',
  'fe80::1%eth0',
  '0/0',
  'TCP',
  'kubernetes.io/dockerconfigjson',
  'a=b,c!=d',
  'cluster-admin',
  'system:masters',
];
const numbers = [0, 1, -1, 2, 8080, 65_536, 2 ** 31, 2 ** 53, -(2 ** 63), 1.5, 1e-9, 1e300];

/** How many values the object may still get, so that recursive types end. */
interface Left {
  count: number;
}

/** Repeated often, they keep a pattern or a parser busy that reads the same characters again and again. */
const repeated = ['0', 'a', '-', '.', '/', ':', ',', '@', '*', ' ', '"', '\\', "['", 'a.', '1.', '%41', '=,', '(', '\n'];
const ends = ['', 'x', '\n', '!', '1'];

export function anyText(random: Random): string {
  if (random.chance(0.004)) return random.pick(repeated).repeat(random.length(150_000)) + random.pick(ends);
  if (random.chance(0.02)) return random.pick(words).repeat(random.length(2_000));
  return random.pick(words);
}

export function anyJson(random: Random, depth = 0): Json {
  const choice = random.below(depth > 4 ? 4 : 6);
  if (choice === 0) return anyText(random);
  if (choice === 1) return random.pick(numbers);
  if (choice === 2) return random.chance(0.5);
  if (choice === 3) return null;
  if (choice === 4) return Array.from({ length: random.length(20) }, () => anyJson(random, depth + 1));
  return Object.fromEntries(Array.from({ length: random.length(20) }, () => [anyText(random), anyJson(random, depth + 1)]));
}

/** An object of the type, with random fields, of which a few have values of other types. */
export function objectOf(random: Random, typeName: string): JsonObject {
  const types = builtinTypes();
  return types.has(typeName) ? fields(random, types.object(typeName), { count: 4 + random.length(400) }) : {};
}

function fields(random: Random, type: ObjectType, left: Left): JsonObject {
  const object: JsonObject = {};
  for (const [name, field] of type.fields) {
    if (left.count <= 0) break;
    if (name === 'kind' || name === 'apiVersion' || name === 'metadata') continue;
    if (!random.chance(field.required ? 0.95 : 0.25)) continue;
    object[name] = fieldValue(random, field.type, left);
  }
  return object;
}

function fieldValue(
  random: Random,
  type: ObjectType['fields'] extends ReadonlyMap<string, infer F extends { type: unknown }> ? F['type'] : never,
  left: Left,
): Json {
  left.count--;
  if (random.chance(0.01)) return anyJson(random);
  switch (type.kind) {
    case 'object':
      return fields(random, type, left);
    case 'list':
      return Array.from({ length: Math.min(left.count, random.length(12)) + 1 }, () => fieldValue(random, type.items as Type, left));
    case 'map':
      return Object.fromEntries(
        Array.from({ length: random.length(12) }, () => [anyText(random), fieldValue(random, type.values as Type, left)]),
      );
    case 'any':
      return anyJson(random);
    case 'scalar':
      return scalar(random, type.scalar);
  }
}

function scalar(random: Random, name: string): Json {
  switch (name) {
    case 'bool':
      return random.chance(0.5);
    case 'int32':
    case 'int64':
    case 'double':
      return random.pick(numbers);
    case 'intOrString':
      return random.chance(0.5) ? random.pick(numbers) : anyText(random);
    case 'time':
    case 'microTime':
      return random.chance(0.7) ? '2026-01-01T00:00:00Z' : anyText(random);
    case 'quantity':
      return random.pick(['1', '100m', '1Gi', '1e3', anyText(random)]);
    case 'duration':
      return random.pick(['1s', '1h', anyText(random)]);
    case 'bytes':
      return random.pick(['', 'YQ==', anyText(random)]);
    default:
      return anyText(random);
  }
}

/** Changes the text here and there, so that it is hardly JSON any more. */
export function mutated(random: Random, text: string): string {
  let changed = text;
  for (let count = 1 + random.length(8); count > 0; count--) {
    const at = random.below(changed.length + 1);
    const piece = random.pick([
      '',
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '\\',
      '\u0000',
      'null',
      '1e999',
      changed.slice(at, at + random.length(200)),
    ]);
    changed = changed.slice(0, at) + piece + changed.slice(at + random.length(20));
  }
  return changed;
}
