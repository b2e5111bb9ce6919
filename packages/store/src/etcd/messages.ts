import type { Entry } from '../contract.ts';
import { Reader, ReverseWriter } from './protobuf.ts';
import { positionOf, revisionAt } from './revisions.ts';

/*
 * The messages of etcd's KV and Maintenance services that this driver uses. Field numbers are those of `etcdserverpb` and `mvccpb`. Keys on
 * the wire are the store's keys with a prefix; `skip` is the length of that prefix in bytes.
 */

export interface RangeRequest {
  readonly key: string;
  /** Empty for a single key. */
  readonly end: string;
  readonly limit: number;
  /** 0 for the newest. */
  readonly etcdRevision: number;
  readonly countOnly: boolean;
  /** Answer from the member's own state, without asking the leader. */
  readonly serializable: boolean;
}

export interface RangeResponse {
  readonly etcdRevision: number;
  readonly entries: Entry[];
  readonly count: number;
}

const overhead = 96;

export function encodeRange(request: RangeRequest): Buffer {
  const writer = new ReverseWriter(request.key.length + request.end.length + overhead);
  writeRange(writer, request);
  return writer.finish();
}

function writeRange(writer: ReverseWriter, request: RangeRequest): void {
  writer.boolean(9, request.countOnly);
  writer.boolean(7, request.serializable);
  writer.integer(4, request.etcdRevision);
  writer.integer(3, request.limit);
  if (request.end !== '') writer.text(2, request.end);
  writer.text(1, request.key);
}

export function encodeCompaction(etcdRevision: number): Buffer {
  const writer = new ReverseWriter(16);
  writer.integer(1, etcdRevision);
  return writer.finish();
}

export function decodeRange(buffer: Buffer, skip: number): RangeResponse {
  return readRange(new Reader(buffer), skip);
}

export function readRange(reader: Reader, skip: number): RangeResponse {
  let etcdRevision = 0;
  let count = 0;
  const entries: Entry[] = [];
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) etcdRevision = readHeader(reader.nested());
    else if (field === 2) entries.push(readEntry(reader.nested(), skip));
    else if (field === 4) count = reader.integer();
    else reader.skip();
  }
  return { etcdRevision, entries, count };
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

/** The etcd revision in a `ResponseHeader`. */
export function readHeader(reader: Reader): number {
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 3) return reader.integer();
    reader.skip();
  }
  return 0;
}

/** A `KeyValue`, with store revisions. */
export function readEntry(reader: Reader, skip: number): Entry {
  let key = '';
  let value = '';
  let created = 0;
  let modified = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) key = reader.text(skip);
    else if (field === 2) created = reader.integer();
    else if (field === 3) modified = reader.integer();
    else if (field === 5) value = reader.text();
    else reader.skip();
  }
  const position = positionOf(key);
  return { key, value, revision: revisionAt(modified, position), createRevision: revisionAt(created, position) };
}
