import type { SnapshotInfo, StoreErrorCode } from '../contract.ts';

/*
 * What the main thread and the worker say to each other. Batches travel as flat arrays of strings and numbers: one object per operation would cost
 * more to clone than the operation costs to apply. The worker answers in the order it was asked.
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
  /** The revision that an update or a deletion expects. */
  readonly revisions: number[];
  /** What has to be there: guard `i` is for operation `guarded[i]`, in the order of operations. */
  readonly guarded: number[];
  readonly guardKeys: string[];
  /** 0 when any revision will do. */
  readonly guardRevisions: number[];
  /** Whether a watcher wants the values that were replaced. */
  readonly previous: boolean;
}

export type Reply =
  | { readonly type: 'opened'; readonly state: OpenedState }
  | { readonly type: 'refused'; readonly failure: Failure }
  | WrittenReply
  /** The whole batch was rolled back. */
  | { readonly type: 'unwritten'; readonly failure: Failure }
  | { readonly type: 'got'; readonly id: number; readonly rows: Rows }
  /** A part of a list; `listed` comes after the last. */
  | { readonly type: 'rows'; readonly id: number; readonly rows: Rows }
  | { readonly type: 'listed'; readonly id: number; readonly revision: number; readonly remaining: number }
  | {
      readonly type: 'events';
      readonly id: number;
      readonly history: HistoryRows;
      /** The events up to this revision were given. */
      readonly through: number;
      /** Whether `through` is the newest revision. */
      readonly complete: boolean;
    }
  | { readonly type: 'compacted'; readonly id: number; readonly revision: number }
  | { readonly type: 'snapshotted'; readonly id: number; readonly info: SnapshotInfo }
  | { readonly type: 'failed'; readonly id: number; readonly failure: Failure }
  /** Sent when the state of the file changes, before the answer in which that was found. */
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
  /** The revision of the first operation that succeeded; the next ones count up from it. */
  readonly first: number;
  /** For each operation the revision at which its key came to be, or 0 when the operation failed. */
  readonly created: number[];
  /** For each operation the value that was there before, when the request asked for it. */
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
  /** 0 when the key was not there before. */
  readonly previousRevisions: number[];
  readonly previousValues: string[];
  readonly previousCreated: number[];
}

export interface Failure {
  readonly code: StoreErrorCode;
  readonly message: string;
  readonly compactedRevision?: number;
}
