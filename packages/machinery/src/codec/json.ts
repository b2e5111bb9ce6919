import type { Json } from '../json.ts';
import { isTooDeep } from './depth.ts';
import { CodecError } from './error.ts';
import { parseExact } from './exact.ts';
import { explainSyntaxError } from './json-syntax.ts';

/** JSON.parse, with a limit on depth and Kubernetes' words for what is not JSON. */
export function parseJson(text: string): Json {
  if (isTooDeep(text)) throw new CodecError(explainSyntaxError(text));
  let value: Json;
  try {
    value = parseExact(text);
  } catch {
    throw new CodecError(explainSyntaxError(text));
  }
  return text.includes('\\u') && loneSurrogate.test(text) ? repairStrings(text) : value;
}

/** An escape that may be half of a pair; whole pairs are found too, and left alone by the repair. */
const loneSurrogate = /\\u[dD][89a-fA-F]/;

/** Half a surrogate pair has no UTF-8: Go replaces it while reading. */
function repairStrings(text: string): Json {
  return JSON.parse(text, (_key, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value)) as Json;
}

export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What kind the body says that it is; empty where it says nothing. Throws when it is no object, or says it in another form than text. */
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

/** Wraps what `parseJson` and `readTypeMeta` found: kube-apiserver first looks for the kind, and fails there. */
export function typeMetaError(message: string): CodecError {
  return new CodecError(`couldn't get version/kind; json parse error: ${message}`);
}

/** How Go's messages call the value. */
export function jsonKind(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
