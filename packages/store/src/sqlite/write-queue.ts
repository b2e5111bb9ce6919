import type { StoreError } from '../contract.ts';
import type { Operation, WriteRequest } from './messages.ts';

const operationsPerBatch = 1_000;
const charactersPerBatch = 8 * 1024 * 1024;

export interface Waiting {
  resolve(revision: number): void;
  reject(error: StoreError): void;
}

export interface Batch {
  readonly operations: Operation[];
  readonly keys: string[];
  readonly values: string[];
  readonly revisions: number[];
  readonly waiting: Waiting[];
  characters: number;
}

/** Writes that wait for the worker, already cut into the batches in which they will travel. */
export class WriteQueue {
  readonly #batches: Batch[] = [];

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  add(operation: Operation, write: { key: string; value: string; revision: number }): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const batch = this.#open();
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
    const batch: Batch = { operations: [], keys: [], values: [], revisions: [], waiting: [], characters: 0 };
    this.#batches.push(batch);
    return batch;
  }
}

export function toRequest(batch: Batch, previous: boolean): WriteRequest {
  const { operations, keys, values, revisions } = batch;
  return { type: 'write', operations, keys, values, revisions, previous };
}
