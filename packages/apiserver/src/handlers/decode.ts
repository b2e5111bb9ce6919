import {
  CodecError,
  cannotBeHandled,
  checkLiterals,
  checkObjectInParts,
  DecodeError,
  decodeMessage,
  decodeProtobuf,
  duplicateFields,
  type FieldError,
  FieldPath,
  fieldError,
  isObject,
  type Json,
  type JsonObject,
  type KubeObject,
  type ObjectType,
  type Parts,
  parseApiVersion,
  parseJsonInParts,
  parseYamlInParts,
  readTypeMeta,
  status,
  strictDecodingMessage,
  typeMetaError,
  unrecognizedBody,
  whole,
} from '@capstan/machinery';
import { accepted } from '../http/negotiate.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { RequestContext } from '../registry/context.ts';
import type { CustomKind } from '../registry/resource.ts';

/** The expected type of a body. */
export interface Expected {
  readonly kind: string;
  readonly groupVersion: string;
  readonly type: ObjectType;
  readonly custom?: CustomKind;
  /** Older versions of the same kind that are decoded as this one. */
  readonly older?: ReadonlySet<string>;
}

/** Versions that know a kind but are no longer served: bodies in them get a different error. */
const unserved: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['Scale', new Set(['apps/v1beta1', 'apps/v1beta2', 'extensions/v1beta1'])],
]);

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface Body {
  readonly bytes: Buffer;
  readonly contentType: string | undefined;
}

export interface DecodeOptions {
  readonly catalog: Catalog;
  readonly validation: FieldValidation;
  readonly context: RequestContext;
}

/** Decodes a body as the kind that the path names. Findings of field validation become an error or warnings. */
export function decodeObject(body: Body, expected: Expected, options: DecodeOptions): KubeObject {
  return whole(decodeInParts(body, expected, options));
}

/** The same in parts, for long bodies. */
export function* decodeInParts(body: Body, expected: Expected, options: DecodeOptions): Parts<KubeObject> {
  const parsed = yield* parseBody(body, expected, options.catalog);
  const { value, text } = parsed;
  if (parsed.checked) return value as KubeObject;
  yield;
  if (text !== undefined && expected.custom === undefined) {
    yield* typedInParts(expected, checkLiterals(text, expected.type));
    yield;
  }
  const found = yield* checkedInParts(value, expected, text);
  const problems = parsed.duplicates === undefined ? found : [parsed.duplicates, ...found];
  if (options.validation === 'Strict' && problems.length > 0) {
    throw cannotBeHandled({ kind: expected.kind, version: versionOf(expected) }, expected.kind, strictDecodingMessage(problems));
  }
  if (options.validation === 'Warn')
    for (const problem of problems)
      for (const line of problem.replace(/^yaml: unmarshal errors:\s+/, '').split('\n')) options.context.warn(line.trim());
  return value as KubeObject;
}

/** Checks an object against its type and drops unknown fields; returns the findings that strict validation would reject. */
export function checked(value: JsonObject, expected: Expected, text?: string): readonly string[] {
  return whole(checkedInParts(value, expected, text));
}

/** The same in parts, for long bodies. */
export function checkedInParts(value: JsonObject, expected: Expected, text?: string): Parts<readonly string[]> {
  return typedInParts(expected, checking(value, expected, text));
}

function* checking(value: JsonObject, expected: Expected, text: string | undefined): Parts<readonly string[]> {
  if (expected.custom !== undefined) return yield* readCustom(value, expected, text);
  const { unknown } = yield* checkObjectInParts(value, expected.type, text === undefined ? {} : { text });
  if (!isObject(value['metadata'])) value['metadata'] = {};
  value['kind'] = expected.kind;
  value['apiVersion'] = expected.groupVersion;
  return unknown;
}

/** Reports errors as errors of the kind. */
function* typedInParts<T>(expected: Expected, parts: Parts<T>): Parts<T> {
  try {
    return yield* parts;
  } catch (error) {
    if (error instanceof CodecError)
      throw cannotBeHandled({ kind: expected.kind, version: versionOf(expected) }, expected.kind, error.message);
    throw error;
  }
}

/** Custom resources keep their content: only their metadata is decoded, and fields unknown to their schema are dropped. */
function* readCustom(value: JsonObject, expected: Expected, text: string | undefined): Parts<readonly string[]> {
  const repeated = text === undefined ? [] : yield* duplicateFields(text, value);
  yield;
  refuseOther(value, expected);
  const unknown = expected.custom!.read(value);
  if (!isObject(value['metadata'])) value['metadata'] = {};
  return [...repeated, ...unknown];
}

/** A custom resource must state its kind and version; mismatches are reported like errors of any other field. */
function refuseOther({ kind, apiVersion, metadata }: JsonObject, expected: Expected): void {
  const errors: FieldError[] = [];
  if (kind !== expected.kind) errors.push(fieldError.invalid(FieldPath.of('kind'), kind, `must be ${expected.kind}`));
  if (apiVersion !== expected.groupVersion)
    errors.push(fieldError.invalid(FieldPath.of('apiVersion'), apiVersion, `must be ${expected.groupVersion}`));
  if (errors.length === 0) return;
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  throw status.invalidObject({ group: groupOf(asText(apiVersion)), kind: asText(kind) }, name, errors);
}

interface ParsedBody {
  readonly value: JsonObject;
  readonly text?: string;
  readonly duplicates?: string | undefined;
  readonly checked: boolean;
}

function* parseBody(body: Body, expected: Expected, catalog: Catalog): Parts<ParsedBody> {
  const media = (body.contentType ?? 'application/json').split(';', 1)[0]!.trim().toLowerCase();
  switch (media) {
    case 'application/json':
    case '': {
      const text = body.bytes.toString();
      const value = yield* recognized(expected, body.bytes, typed(text));
      return { value: ofKind(value, expected, catalog), text, checked: false };
    }
    case 'application/yaml': {
      let duplicates: string | undefined;
      const read = function* (): Parts<Json> {
        const parsed = yield* parseYamlInParts(body.bytes.toString());
        duplicates = parsed.duplicates;
        yield;
        readTypeMeta(parsed.value);
        return parsed.value;
      };
      const value = yield* recognized(expected, body.bytes, read());
      return { value: ofKind(value, expected, catalog), duplicates, checked: false };
    }
    case 'application/vnd.kubernetes.protobuf':
      return { value: yield* fromProtobuf(body.bytes, expected, catalog), checked: true };
    default:
      throw status.unsupportedMediaType(accepted);
  }
}

/** Kubernetes first decodes the kind of a JSON body, so invalid JSON fails there. */
function* typed(text: string): Parts<Json> {
  let value: Json;
  try {
    value = yield* parseJsonInParts(text);
  } catch (error) {
    throw error instanceof CodecError ? typeMetaError(error.message) : error;
  }
  readTypeMeta(value);
  return value;
}

function* recognized(expected: Expected, bytes: Buffer, parsing: Parts<Json>): Parts<JsonObject> {
  try {
    return ((yield* parsing) ?? {}) as JsonObject;
  } catch (error) {
    if (error instanceof CodecError || error instanceof DecodeError) throw unrecognizedBody(expected.kind, error, bytes.toString());
    throw error;
  }
}

function fromProtobuf(bytes: Buffer, expected: Expected, catalog: Catalog): Parts<JsonObject> {
  const read = function* (): Parts<Json> {
    const { apiVersion, kind, raw } = decodeProtobuf(bytes);
    ofKind({ apiVersion, kind }, expected, catalog);
    yield;
    const value = decodeMessage(raw, expected.type);
    if (!isObject(value['metadata'])) value['metadata'] = {};
    value['apiVersion'] = expected.groupVersion;
    value['kind'] = expected.kind;
    return value;
  };
  return recognized(expected, bytes, read());
}

/** Kind and version as messages show them, whatever type was sent. */
export function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

/** The error for another version than the expected one. */
function otherVersion(apiVersion: string, { groupVersion }: Expected): Error {
  return status.badRequest(`the API version in the data (${apiVersion}) does not match the expected API version (${groupVersion})`);
}

function ofKind(value: JsonObject, expected: Expected, catalog: Catalog): JsonObject {
  if (expected.custom !== undefined) return ofCustomKind(value, expected);
  const kind = value['kind'] === undefined || value['kind'] === '' ? expected.kind : asText(value['kind']);
  const apiVersion = value['apiVersion'] === undefined || value['apiVersion'] === '' ? expected.groupVersion : asText(value['apiVersion']);
  if (kind === expected.kind && (apiVersion === expected.groupVersion || expected.older?.has(apiVersion) === true)) return value;
  if (kind === expected.kind && unserved.get(kind)?.has(apiVersion) === true) throw otherVersion(apiVersion, expected);
  const actual = { kind, version: parseApiVersion(apiVersion).version };
  if (!catalog.hasKind(apiVersion, kind)) {
    throw cannotBeHandled(
      actual,
      expected.kind,
      `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    );
  }
  if (kind === expected.kind && groupOf(apiVersion) === groupOf(expected.groupVersion)) throw otherVersion(apiVersion, expected);
  const internal = groupOf(expected.groupVersion).split('.', 1)[0] || 'core';
  throw cannotBeHandled(
    actual,
    expected.kind,
    `converting (${actual.version}.${kind}) to (${internal}.${expected.kind}): unknown conversion`,
  );
}

/** Custom resources have no default kind: a body without one is rejected. */
function ofCustomKind(value: JsonObject, { kind, groupVersion }: Expected): JsonObject {
  if (value['kind'] === undefined || value['kind'] === '') {
    const text = JSON.stringify(value);
    throw unrecognizedBody(kind, new CodecError(`Object 'Kind' is missing in '${text}'`), text);
  }
  const given = value['apiVersion'] ?? '';
  if (given === groupVersion) return value;
  throw status.badRequest(`the API version in the data (${asText(given)}) does not match the expected API version (${groupVersion})`);
}

const groupOf = (apiVersion: string): string => parseApiVersion(apiVersion).group;

function versionOf({ groupVersion }: Expected): string {
  return parseApiVersion(groupVersion).version;
}
