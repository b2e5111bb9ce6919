/**
 * The revisioned key-value store under everything else. A driver keeps one decimal revision counter, which every write raises by one or
 * more and which is never reused. A watcher receives every event exactly once, in revision order.
 *
 * Values are text: one JSON document each. A driver never looks inside.
 */
export interface Store extends AsyncDisposable {
  /**
   * A revision at or above that of every write completed anywhere, and below that of every write requested later. Linearizable; concurrent
   * callers may share one round trip.
   */
  currentRevision(): Promise<number>;

  /** The newest value of one key. Linearizable. */
  get(key: string): Promise<Entry | undefined>;

  /** Keys from `start` (included) to `end` (excluded), in the byte order of their UTF-8, at one revision. */
  list(range: Range, options?: ListOptions): Promise<Page>;

  /**
   * Resolves with the revision when the write is durable. Rejects with `StoreError` `exists` if the key exists, and with `unmet` if a guard
   * fails. Guards are checked when the write is made: a write that changes a guarded key comes before it (and makes the guard fail), after
   * it, or with it in one commit.
   */
  create(key: string, value: string, guards?: readonly Guard[]): Promise<number>;

  /** Replaces the value if the key is still at `revision`. Rejects with `conflict`, carrying the current entry, or with `missing`. */
  update(key: string, value: string, revision: number): Promise<number>;

  /** Deletes the key if it is still at `revision`; resolves with the revision of the deletion. */
  delete(key: string, revision: number): Promise<number>;

  /**
   * Events with a revision above `after`, first from history, then as they are committed. Batches arrive in order; a batch never splits a
   * revision. The handler is called synchronously from the commit: it must not block, and an exception ends the watch.
   */
  watch(range: Range, after: number, handler: WatchHandler): Watch;

  /**
   * Forgets history up to and including `revision`, or up to shortly before it if the engine cannot cut there: `compactedRevision` tells.
   * Lists and watches below that fail with `compacted`. Current values stay.
   */
  compact(revision: number): Promise<void>;

  /** The revision up to which history has been forgotten, or 0. */
  compactedRevision(): Promise<number>;

  /**
   * Writes a consistent copy to a file: for SQLite, one that `restoreSqliteSnapshot` reads; for etcd, a portable export (see
   * `portable.ts`).
   */
  snapshot(file: string): Promise<SnapshotInfo>;

  /** Why writes currently fail (disk full, corrupt file, unreachable engine); undefined if they do not. */
  readonly failure: StoreError | undefined;
}

export interface Range {
  readonly start: string;
  readonly end: string;
}

/** Another key that must exist when a write is made. */
export interface Guard {
  readonly key: string;
  /** The revision it must be at; undefined for any. */
  readonly revision?: number;
}

export interface Entry {
  readonly key: string;
  readonly value: string;
  /** The revision of the write that produced this value. */
  readonly revision: number;
  /** The revision at which the key was created. */
  readonly createRevision: number;
}

export interface ListOptions {
  /** List as of this revision; by default the newest. */
  readonly revision?: number;
  readonly limit?: number;
}

export interface Page {
  /** The revision that the page shows. */
  readonly revision: number;
  readonly entries: Entry[];
  /** How many keys of the range follow the last entry. */
  readonly remaining: number;
}

export type StoreEvent =
  | {
      readonly type: 'put';
      readonly revision: number;
      readonly key: string;
      readonly value: string;
      readonly createRevision: number;
      /** The previous entry of the key: undefined if the key is new, or if the watcher set `withoutPrevious`. */
      readonly previous: Entry | undefined;
    }
  | {
      readonly type: 'delete';
      readonly revision: number;
      readonly key: string;
      /** The deleted entry: undefined only if the watcher set `withoutPrevious`. */
      readonly previous: Entry | undefined;
    };

export interface WatchHandler {
  /** Set by a watcher that keeps values itself: previous entries are then neither read nor sent, which makes every update cheaper. */
  readonly withoutPrevious?: boolean;
  events(batch: readonly StoreEvent[]): void;
  /** No more events at or below this revision will follow. Called after `events`, and when the store learns it in other ways. */
  progress?(revision: number): void;
  /** The watch ended and will deliver nothing more: `compacted`, `closed`, or a failure. Not called after `Watch.close`. */
  failed(error: StoreError): void;
}

export interface Watch {
  close(): void;
  /** Asks the engine how far it is; the answer arrives as `progress`. A driver that always knows answers immediately. */
  requestProgress(): void;
}

export interface SnapshotInfo {
  readonly revision: number;
  readonly keys: number;
  readonly bytes: number;
}

export type StoreErrorCode =
  /** create: the key exists. */
  | 'exists'
  /** create: a guarded key is missing or at another revision. */
  | 'unmet'
  /** update, delete: the key does not exist. */
  | 'missing'
  /** update, delete: the key is at another revision. */
  | 'conflict'
  /** list, watch: the revision is older than the history. */
  | 'compacted'
  /** list, watch: the revision does not exist yet. */
  | 'future'
  /** The disk is full or the file cannot be written: nothing was changed, reads still work. */
  | 'readonly'
  /** The file is damaged: nothing was changed. */
  | 'corrupt'
  /** An export file is damaged: nothing was imported. */
  | 'damaged'
  /** The engine is too old for this driver. */
  | 'outdated'
  /** The engine cannot be reached; a write may or may not have happened. */
  | 'unavailable'
  /** Another process has the store open. */
  | 'locked'
  /** The value or the key exceeds the engine's limit, or the key is not well-formed text. */
  | 'toolarge'
  /** The store was closed. */
  | 'closed';

export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** For exists and conflict: the current entry, if the driver knows it. */
  readonly current: Entry | undefined;
  /** For compacted: the oldest revision that still exists. */
  readonly compactedRevision: number | undefined;

  constructor(code: StoreErrorCode, message: string, more: { current?: Entry; compactedRevision?: number; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'StoreError';
    this.code = code;
    this.current = more.current;
    this.compactedRevision = more.compactedRevision;
  }
}
