import type { Entry } from '../contract.ts';
import { Reader, ReverseWriter } from './protobuf.ts';

/*
 * The messages of etcd's KV, Watch and Maintenance services that this driver uses. Field numbers are those of `etcdserverpb` and `mvccpb`.
 * Keys on the wire are the store's keys after a prefix; `skip` is the length of that prefix in bytes.
 */

export interface RangeRequest {
  readonly key: string;
  /** Empty for the key alone. */
  readonly end: string;
  readonly limit: number;
  readonly revision: number;
  readonly countOnly: boolean;
  /** Answer from the member's own state, without asking the leader. */
  readonly serializable: boolean;
}

export interface RangeResponse {
  readonly revision: number;
  readonly entries: Entry[];
  readonly count: number;
}

/** Compares the revision of one key with `expected` (0: the key is not there), then puts or deletes it, or else reads it. */
export interface SwapRequest {
  readonly key: string;
  readonly expected: number;
  /** Undefined to delete. */
  readonly value: string | undefined;
}

export interface SwapResponse {
  readonly revision: number;
  readonly succeeded: boolean;
  /** What was there instead. */
  readonly current: Entry | undefined;
}

const target = { mod: 2 } as const;
const overhead = 96;

export function encodeRange(request: RangeRequest): Buffer {
  const writer = new ReverseWriter(request.key.length + request.end.length + overhead);
  writeRange(writer, request);
  return writer.finish();
}

function writeRange(writer: ReverseWriter, request: RangeRequest): void {
  writer.boolean(9, request.countOnly);
  writer.boolean(7, request.serializable);
  writer.integer(4, request.revision);
  writer.integer(3, request.limit);
  if (request.end !== '') writer.text(2, request.end);
  writer.text(1, request.key);
}

export function encodeSwap(request: SwapRequest): Buffer {
  const { key, value, expected } = request;
  const writer = new ReverseWriter(key.length * 3 + (value?.length ?? 0) + overhead);
  // failure: [{ request_range }]
  const failure = writer.length;
  writer.text(1, key);
  writer.nested(1, failure);
  writer.nested(3, failure);
  // success: [{ request_put }] or [{ request_delete_range }]
  const success = writer.length;
  if (value !== undefined) writer.text(2, value);
  writer.text(1, key);
  writer.nested(value === undefined ? 3 : 2, success);
  writer.nested(2, success);
  // compare: [{ result: EQUAL, target: MOD, key, mod_revision }]
  const compare = writer.length;
  writer.integer(6, expected);
  writer.text(3, key);
  writer.integer(2, target.mod);
  writer.nested(1, compare);
  return writer.finish();
}

export function encodeCompaction(revision: number): Buffer {
  const writer = new ReverseWriter(16);
  writer.integer(1, revision);
  return writer.finish();
}

export function decodeRange(buffer: Buffer, skip: number): RangeResponse {
  return readRange(new Reader(buffer), skip);
}

function readRange(reader: Reader, skip: number): RangeResponse {
  let revision = 0;
  let count = 0;
  const entries: Entry[] = [];
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) revision = readHeader(reader.nested());
    else if (field === 2) entries.push(readEntry(reader.nested(), skip));
    else if (field === 4) count = reader.integer();
    else reader.skip();
  }
  return { revision, entries, count };
}

export function decodeSwap(buffer: Buffer, skip: number): SwapResponse {
  const reader = new Reader(buffer);
  let revision = 0;
  let succeeded = false;
  let current: Entry | undefined;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) revision = readHeader(reader.nested());
    else if (field === 2) succeeded = reader.boolean();
    else if (field === 3) current = readRangeOfResponse(reader.nested(), skip) ?? current;
    else reader.skip();
  }
  return { revision, succeeded, current };
}

function readRangeOfResponse(reader: Reader, skip: number): Entry | undefined {
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) return readRange(reader.nested(), skip).entries[0];
    reader.skip();
  }
  return undefined;
}

/** The version in a `StatusResponse`. */
export function decodeVersion(buffer: Buffer): string {
  const reader = new Reader(buffer);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 2) return reader.text();
    reader.skip();
  }
  return '';
}

/** The revision in a `ResponseHeader`. */
export function readHeader(reader: Reader): number {
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 3) return reader.integer();
    reader.skip();
  }
  return 0;
}

/** A `KeyValue`. */
export function readEntry(reader: Reader, skip: number): Entry {
  let key = '';
  let value = '';
  let createRevision = 0;
  let revision = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) key = reader.text(skip);
    else if (field === 2) createRevision = reader.integer();
    else if (field === 3) revision = reader.integer();
    else if (field === 5) value = reader.text();
    else reader.skip();
  }
  return { key, value, revision, createRevision };
}
