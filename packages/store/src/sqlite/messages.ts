import type { SnapshotInfo, StoreErrorCode } from '../contract.ts';

/*
 * The messages between the main thread and the worker. Batches are flat arrays of strings and numbers: cloning one object per operation
 * would cost more than applying the operation. The worker answers in the order of the requests.
 */

export const operation = { create: 0, update: 1, delete: 2 } as const;
export type Operation = (typeof operation)[keyof typeof operation];

export type Request =
  | WriteRequest
  | { readonly type: 'get'; readonly id: number; readonly key: string }
  | {
      readonly type: 'list';
      readonly id: number;
      readonly start: string;
      readonly end: string;
      /** 0 for the newest. */
      readonly revision: number;
      /** 0 for all. */
      readonly limit: number;
    }
  | {
      readonly type: 'history';
      readonly id: number;
      readonly start: string;
      readonly end: string;
      readonly after: number;
      readonly previous: boolean;
    }
  | { readonly type: 'compact'; readonly id: number; readonly revision: number }
  | { readonly type: 'snapshot'; readonly id: number; readonly file: string }
  | { readonly type: 'close' };

/** Parallel arrays: operation `i` is `operations[i]` on `keys[i]`. */
export interface WriteRequest {
  readonly type: 'write';
  readonly operations: Operation[];
  readonly keys: string[];
  readonly values: string[];
  /** The expected revision of an update or a deletion. */
  readonly revisions: number[];
  /** Guard `i` belongs to operation `guarded[i]`; guards are in the order of operations. */
  readonly guarded: number[];
  readonly guardKeys: string[];
  /** 0 for any revision. */
  readonly guardRevisions: number[];
  /** Whether a watcher needs the replaced values. */
  readonly previous: boolean;
}

export type Reply =
  | { readonly type: 'opened'; readonly state: OpenedState }
  | { readonly type: 'refused'; readonly failure: Failure }
  | WrittenReply
  /** The whole batch was rolled back. */
  | { readonly type: 'unwritten'; readonly failure: Failure }
  | { readonly type: 'got'; readonly id: number; readonly rows: Rows }
  /** A part of a list; `listed` follows the last one. */
  | { readonly type: 'rows'; readonly id: number; readonly rows: Rows }
  | { readonly type: 'listed'; readonly id: number; readonly revision: number; readonly remaining: number }
  | {
      readonly type: 'events';
      readonly id: number;
      readonly history: HistoryRows;
      /** The events up to this revision were sent. */
      readonly through: number;
      /** Whether `through` is the newest revision. */
      readonly complete: boolean;
    }
  | { readonly type: 'compacted'; readonly id: number; readonly revision: number }
  | { readonly type: 'snapshotted'; readonly id: number; readonly info: SnapshotInfo }
  | { readonly type: 'failed'; readonly id: number; readonly failure: Failure }
  /** Sent when the state of the file changes, before the answer in which the change was noticed. */
  | { readonly type: 'health'; readonly failure: Failure | undefined }
  | { readonly type: 'closed' };

export interface OpenedState {
  readonly revision: number;
  readonly compacted: number;
  /** Damage found by the check at the start. */
  readonly failure: Failure | undefined;
}

export interface WrittenReply {
  readonly type: 'written';
  /** The revision of the first successful operation; the next ones count up from it. */
  readonly first: number;
  /** For each operation, the revision at which its key was created, or 0 if the operation failed. */
  readonly created: number[];
  /** For each operation, the previous value, if the request asked for it. */
  readonly previous: string[] | undefined;
  readonly refusals: Refusal[];
}

export interface Refusal {
  readonly index: number;
  readonly code: 'exists' | 'missing' | 'conflict' | 'unmet';
  readonly revision: number;
  readonly createRevision: number;
  readonly value: string;
}

/** Parallel arrays of entries. */
export interface Rows {
  readonly keys: string[];
  readonly values: string[];
  readonly revisions: number[];
  readonly created: number[];
}

export interface HistoryRows extends Rows {
  /** 1 for a deletion. */
  readonly deleted: number[];
  /** 0 if the key did not exist before. */
  readonly previousRevisions: number[];
  readonly previousValues: string[];
  readonly previousCreated: number[];
}

export interface Failure {
  readonly code: StoreErrorCode;
  readonly message: string;
  readonly compactedRevision?: number;
}
