import { readFileSync } from 'node:fs';
import type { AppSpec } from '@capstan/api';
import { fieldsOf, isObject, type Json, type JsonObject, parseYaml } from '@capstan/machinery';
import { Failure } from '../failure.ts';

/** Reads `key=value` of a flag by the type that the schema gives the key. Lists are separated by commas. */
export function fieldsFrom(words: readonly string[], schema: unknown, flag: string): JsonObject {
  const properties = fieldsOf(fieldsOf(schema)['properties']);
  const result: JsonObject = {};
  for (const word of words) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (key === undefined || value === undefined) throw new Failure('usage', `expected ${flag} key=value, found ${JSON.stringify(word)}.`);
    const known = Object.keys(properties);
    if (known.length > 0 && !known.includes(key)) throw new Failure('usage', `${flag} has no key ${key}; it has ${known.join(', ')}.`);
    result[key] = readValue(value, fieldsOf(properties[key])['type']);
  }
  return result;
}

function readValue(text: string, type: unknown): Json {
  if (type === 'string') return text;
  if (type === 'array' && !text.startsWith('[')) return text === '' ? [] : text.split(',');
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** A file with an AppInstance, or with its spec alone. */
export function readWish(file: string): JsonObject {
  let value: unknown;
  try {
    value = parseYaml(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Failure('usage', `${file} cannot be read: ${(error as Error).message}`, error);
  }
  if (!isObject(value)) throw new Failure('usage', `${file}: expected an AppInstance or its spec.`);
  return (isObject(value['spec']) ? value['spec'] : value) as JsonObject;
}

export interface WishFlags {
  readonly app?: string;
  readonly placement?: readonly string[];
  readonly set?: readonly string[];
  readonly appVersion?: string;
  readonly file?: string;
}

/** The spec that flags and a file describe. Flags win. */
export function wishOf(
  { placement = [], set = [], appVersion }: WishFlags,
  fromFile: JsonObject,
  app: { readonly name: string; readonly spec: AppSpec },
): JsonObject {
  const parameters = { ...fieldsOf(fromFile['parameters']), ...fieldsFrom(set, app.spec.parameters, '--set') } as JsonObject;
  return {
    ...fromFile,
    app: app.name,
    placement: { ...fieldsOf(fromFile['placement']), ...fieldsFrom(placement, app.spec.placement, '--placement') } as JsonObject,
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(appVersion !== undefined && { version: appVersion }),
  };
}
