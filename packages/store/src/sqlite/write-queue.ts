import type { Guard, StoreError } from '../contract.ts';
import type { Operation, WriteRequest } from './messages.ts';

const operationsPerBatch = 1_000;
const charactersPerBatch = 8 * 1024 * 1024;

export interface Waiting {
  resolve(revision: number): void;
  reject(error: StoreError): void;
}

export interface Write {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  readonly guards?: readonly Guard[] | undefined;
}

export interface Batch {
  readonly operations: Operation[];
  readonly keys: string[];
  readonly values: string[];
  readonly revisions: number[];
  readonly guarded: number[];
  readonly guardKeys: string[];
  readonly guardRevisions: number[];
  readonly waiting: Waiting[];
  characters: number;
}

/** Writes that wait for the worker, already grouped into batches. */
export class WriteQueue {
  readonly #batches: Batch[] = [];

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  add(operation: Operation, write: Write): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const batch = this.#open();
    for (const guard of write.guards ?? []) {
      batch.guarded.push(batch.operations.length);
      batch.guardKeys.push(guard.key);
      batch.guardRevisions.push(guard.revision ?? 0);
    }
    batch.operations.push(operation);
    batch.keys.push(write.key);
    batch.values.push(write.value);
    batch.revisions.push(write.revision);
    batch.waiting.push({ resolve, reject });
    batch.characters += write.value.length;
    return promise;
  }

  take(): Batch | undefined {
    return this.#batches.shift();
  }

  rejectAll(error: StoreError): void {
    for (const batch of this.#batches.splice(0)) for (const waiting of batch.waiting) waiting.reject(error);
  }

  #open(): Batch {
    const last = this.#batches.at(-1);
    if (last !== undefined && last.keys.length < operationsPerBatch && last.characters < charactersPerBatch) return last;
    const batch: Batch = {
      operations: [],
      keys: [],
      values: [],
      revisions: [],
      guarded: [],
      guardKeys: [],
      guardRevisions: [],
      waiting: [],
      characters: 0,
    };
    this.#batches.push(batch);
    return batch;
  }
}

export function toRequest(batch: Batch, previous: boolean): WriteRequest {
  const { operations, keys, values, revisions, guarded, guardKeys, guardRevisions } = batch;
  return { type: 'write', operations, keys, values, revisions, guarded, guardKeys, guardRevisions, previous };
}
