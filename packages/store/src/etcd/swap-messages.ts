import type { Entry } from '../contract.ts';
import { readHeader, readRange } from './messages.ts';
import { Reader, ReverseWriter } from './protobuf.ts';

/*
 * Compare-and-swap transactions. One write is one transaction. Several writes are an unconditional transaction that contains one
 * transaction for each, so that each succeeds or fails on its own.
 */

/** Compares the revision of one key with the expected one, then puts or deletes it, or else reads it. */
export interface Swap {
  /** With the store's prefix. */
  readonly key: string;
  /** An etcd revision; 0 if the key must not exist. */
  readonly expected: number;
  /** Undefined for a deletion. */
  readonly value: string | undefined;
  readonly guards?: readonly SwapGuard[];
}

/** Another key that must exist. */
export interface SwapGuard {
  /** With the store's prefix. */
  readonly key: string;
  /** An etcd revision; 0 for any. */
  readonly expected: number;
}

export interface SwapOutcome {
  readonly succeeded: boolean;
  /** The entry found instead. */
  readonly current: Entry | undefined;
}

export interface SwapResponse {
  readonly etcdRevision: number;
  /** In the order of the request. */
  readonly outcomes: readonly SwapOutcome[];
}

const target = { mod: 2 } as const;
const notEqual = 3;
const overhead = 96;

/** An upper bound of the size on the wire, for ASCII text. */
export function sizeOf(swap: Swap): number {
  let size = swap.key.length * 3 + (swap.value?.length ?? 0) + overhead;
  for (const { key } of swap.guards ?? []) size += key.length + overhead;
  return size;
}

export function encodeSwaps(swaps: readonly Swap[]): Buffer {
  let size = 0;
  for (const swap of swaps) size += sizeOf(swap);
  const writer = new ReverseWriter(size);
  if (swaps.length === 1) writeSwap(writer, swaps[0]!);
  else {
    for (let index = swaps.length - 1; index >= 0; index--) {
      // success: [{ request_txn }, …]
      const before = writer.length;
      writeSwap(writer, swaps[index]!);
      writer.nested(4, before);
      writer.nested(2, before);
    }
  }
  return writer.finish();
}

function writeSwap(writer: ReverseWriter, { key, value, expected, guards }: Swap): void {
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
  for (const guard of guards ?? []) writeGuard(writer, guard);
}

function writeGuard(writer: ReverseWriter, { key, expected }: SwapGuard): void {
  // compare: [{ result, target: MOD, key, mod_revision }]: a missing key is at revision 0.
  const compare = writer.length;
  writer.integer(6, expected);
  writer.text(3, key);
  writer.integer(2, target.mod);
  if (expected === 0) writer.integer(1, notEqual);
  writer.nested(1, compare);
}

/** `count` is the number of swaps sent. */
export function decodeSwaps(buffer: Buffer, count: number, skip: number): SwapResponse {
  const reader = new Reader(buffer);
  if (count === 1) {
    const outcome = readOutcome(reader, skip);
    return { etcdRevision: outcome.etcdRevision, outcomes: [outcome] };
  }
  let etcdRevision = 0;
  const outcomes: SwapOutcome[] = [];
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) etcdRevision = readHeader(reader.nested());
    else if (field === 3) outcomes.push(readNested(reader.nested(), skip));
    else reader.skip();
  }
  if (outcomes.length !== count) throw new Error(`etcd answered ${outcomes.length} of ${count} parts of a transaction`);
  return { etcdRevision, outcomes };
}

/** A `ResponseOp` with a `TxnResponse`. */
function readNested(reader: Reader, skip: number): SwapOutcome {
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 4) return readOutcome(reader.nested(), skip);
    reader.skip();
  }
  throw new Error('etcd answered a part of a transaction with something other than the outcome of a transaction');
}

/** A `TxnResponse` without nested ones. */
function readOutcome(reader: Reader, skip: number): SwapOutcome & { etcdRevision: number } {
  let etcdRevision = 0;
  let succeeded = false;
  let current: Entry | undefined;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) etcdRevision = readHeader(reader.nested());
    else if (field === 2) succeeded = reader.boolean();
    else if (field === 3 && !succeeded) current = readFound(reader.nested(), skip);
    else reader.skip();
  }
  return { etcdRevision, succeeded, current };
}

/** The entry in a `ResponseOp` with a `RangeResponse`. */
function readFound(reader: Reader, skip: number): Entry | undefined {
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) return readRange(reader.nested(), skip).entries[0];
    reader.skip();
  }
  return undefined;
}
