import {
  builtinTypes,
  encodeEnvelope,
  encodeMessage,
  encodeWatchEvent,
  isObject,
  type JsonObject,
  type ObjectType,
  parseApiVersion,
  parseExact,
} from '@capstan/machinery';
import type { AnswerStream } from './exchange.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';
export const protobufWatchType = `${protobufType};stream=watch`;

const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
/** Groups whose types are in a package of their own; the others are in `io.k8s.api`. */
const homes: ReadonlyMap<string, string> = new Map([
  ['meta.k8s.io', 'io.k8s.apimachinery.pkg.apis.meta.'],
  ['apiextensions.k8s.io', 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.'],
  ['apiregistration.k8s.io', 'io.k8s.kube-aggregator.pkg.apis.apiregistration.'],
]);
const known = new Map<string, ObjectType | undefined>();

/** The type of a response, from its apiVersion and kind. Tables and custom resources have none. */
function typeOf(apiVersion: string, kind: string): ObjectType | undefined {
  const key = `${apiVersion}/${kind}`;
  if (known.has(key)) return known.get(key);
  const types = builtinTypes();
  const name = nameOf(apiVersion, kind);
  const found = types.has(name) ? name : `${metaTypes}${kind}`;
  const type = types.has(found) && found !== `${metaTypes}Table` ? types.object(found) : undefined;
  // The names come from our own responses: there are only as many as kinds.
  known.set(key, type);
  return type;
}

function nameOf(apiVersion: string, kind: string): string {
  const { group: given, version } = parseApiVersion(apiVersion);
  const group = given || 'core';
  return `${homes.get(group) ?? `io.k8s.api.${group.split('.', 1)[0]}.`}${version}.${kind}`;
}

/**
 * Encodes a JSON response as protobuf. Few clients accept nothing else, so none is cached. Undefined if its kind has no protobuf
 * encoding.
 */
export function protobufOf(text: string): Buffer | undefined {
  return encoded(parseExact(text) as JsonObject);
}

function encoded(object: JsonObject): Buffer | undefined {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  const type = typeOf(apiVersion, kind);
  return type === undefined ? undefined : encodeEnvelope({ apiVersion, kind }, encodeMessage(object, type));
}

const frames = new WeakMap<Buffer, Buffer>();

/** Converts the lines of a watch into protobuf frames. Bytes shared by many clients are converted once. */
export function protobufFrames(stream: AnswerStream): AnswerStream {
  return {
    write: (chunk) => stream.write(typeof chunk === 'string' ? framesOf(chunk) : sharedFrames(chunk)),
    get pending() {
      return stream.pending;
    },
    end: () => stream.end(),
    abort: () => stream.abort(),
    onDrain: (listener) => stream.onDrain(listener),
  };
}

function sharedFrames(chunk: Buffer): Buffer {
  let bytes = frames.get(chunk);
  if (bytes === undefined) frames.set(chunk, (bytes = framesOf(chunk.toString())));
  return bytes;
}

function framesOf(lines: string): Buffer {
  const parts: Buffer[] = [];
  for (const line of lines.split('\n')) {
    if (line === '') continue;
    const { type, object } = parseExact(line) as JsonObject;
    const envelope = isObject(object) ? encoded(object) : undefined;
    if (envelope !== undefined) parts.push(encodeWatchEvent(type as string, envelope));
  }
  return Buffer.concat(parts);
}
