import type { Json, JsonObject } from '../json.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import { isTooDeep } from './depth.ts';
import { CodecError } from './error.ts';
import { parseInParts } from './json-parts.ts';
import { explainSyntaxError } from './json-syntax.ts';
import { setOwn } from './own.ts';

/** JSON.parse with a depth limit and Kubernetes' syntax errors. */
export function parseJson(text: string): Json {
  return whole(parseJsonInParts(text));
}

export function* parseJsonInParts(text: string): Parts<Json> {
  if (yield* isTooDeep(text)) throw new CodecError(yield* explainSyntaxError(text));
  let value: Json;
  try {
    value = yield* parseInParts(text);
  } catch {
    throw new CodecError(yield* explainSyntaxError(text));
  }
  return text.includes('\\u') && loneSurrogate.test(text) ? yield* repaired(value) : value;
}

/** Matches an escape that may be half of a pair. It also matches whole pairs, which the repair leaves alone. */
const loneSurrogate = /\\u[dD][89a-fA-F]/;

/** Half a surrogate pair has no UTF-8 encoding: Go replaces it while decoding. */
function* repaired(value: Json): Parts<Json> {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  const inner = value as Record<string | number, Json>;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (endsPart()) yield;
    const before = inner[key]!;
    const after = typeof before === 'string' ? before.toWellFormed() : yield* repaired(before);
    if (after !== before) setOwn(inner as JsonObject, key as string, after);
  }
  return value;
}

export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The kind and apiVersion of a body; empty if absent. Throws if the body is not an object or either is not a string. */
export function readTypeMeta(value: Json): TypeMeta {
  if (value === null) return { apiVersion: '', kind: '' };
  if (typeof value !== 'object' || Array.isArray(value)) {
    const target = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    throw typeMetaError(`json: cannot unmarshal ${jsonKind(value)} into Go value of type ${target}`);
  }
  return { apiVersion: readText(value.apiVersion, 'apiVersion'), kind: readText(value.kind, 'kind') };
}

function readText(value: Json | undefined, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string')
    throw typeMetaError(`json: cannot unmarshal ${jsonKind(value)} into Go struct field .${field} of type string`);
  return value;
}

/** Wraps an error of `parseJson` or `readTypeMeta`: kube-apiserver looks for the kind first, and fails there. */
export function typeMetaError(message: string): CodecError {
  return new CodecError(`couldn't get version/kind; json parse error: ${message}`);
}

/** The name of the value's JSON type in Go's messages. */
export function jsonKind(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
