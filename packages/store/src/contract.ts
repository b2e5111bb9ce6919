/**
 * The revisioned key-value store that everything else stands on. A driver keeps one decimal revision counter that every write raises, by one or by more, and
 * that is never reused; an event is delivered to a watcher once, in order of revision, with nothing left out.
 *
 * Values are text: one JSON document each. A driver never looks inside.
 */
export interface Store extends AsyncDisposable {
  /**
   * A revision at or above that of every write that was completed anywhere, and below that of every write that is asked for later. Linearizable; concurrent
   * callers may share one round trip.
   */
  currentRevision(): Promise<number>;

  /** The newest value of one key. Linearizable. */
  get(key: string): Promise<Entry | undefined>;

  /** Keys from `start` (included) to `end` (excluded), in the byte order of their UTF-8, at one revision. */
  list(range: Range, options?: ListOptions): Promise<Page>;

  /**
   * Resolves when the write is durable, with its revision. Rejects with `StoreError` `exists` when the key is there, and with `unmet` when one of the guards is not as it
   * says. Guards hold when the write is made: a write that changes what they speak of comes before it, and makes them fail, or after it, or with it in one commit.
   */
  create(key: string, value: string, guards?: readonly Guard[]): Promise<number>;

  /** Replaces the value if the key is still at `revision`. Rejects with `conflict` (or `missing`), carrying what is there now. */
  update(key: string, value: string, revision: number): Promise<number>;

  /** Deletes the key if it is still at `revision`; resolves with the revision of the deletion. */
  delete(key: string, revision: number): Promise<number>;

  /**
   * Events with a revision above `after`, first from history, then as they are committed. Batches arrive in order; a batch never splits a revision.
   * The handler is called synchronously from the commit: it must not block, and what it throws ends the watch.
   */
  watch(range: Range, after: number, handler: WatchHandler): Watch;

  /**
   * Forgets history up to and including `revision`, or up to shortly before it where the engine cannot cut there; `compactedRevision` then tells. Lists and
   * watches below that fail with `compacted`. Current values stay.
   */
  compact(revision: number): Promise<void>;

  /** The revision up to which history is forgotten; 0 when none is. */
  compactedRevision(): Promise<number>;

  /** Writes a consistent copy to a file: what `restoreSqliteSnapshot` reads for SQLite, a portable export (see `portable.ts`) for etcd. */
  snapshot(file: string): Promise<SnapshotInfo>;

  /** Why writes fail now (disk full, corrupt file, engine out of reach), or undefined when all is well. */
  readonly failure: StoreError | undefined;
}

export interface Range {
  readonly start: string;
  readonly end: string;
}

/** Another key that has to be there when a write is made. */
export interface Guard {
  readonly key: string;
  /** At which it has to be; absent when any will do. */
  readonly revision?: number;
}

export interface Entry {
  readonly key: string;
  readonly value: string;
  /** The revision of the write that made this value. */
  readonly revision: number;
  /** The revision at which the key came to be. */
  readonly createRevision: number;
}

export interface ListOptions {
  /** List as of this revision; the newest when absent. */
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
      /** What the key held before: undefined when the key is new, or when the watcher has set `withoutPrevious`. */
      readonly previous: Entry | undefined;
    }
  | {
      readonly type: 'delete';
      readonly revision: number;
      readonly key: string;
      /** What was deleted: undefined only when the watcher has set `withoutPrevious`. */
      readonly previous: Entry | undefined;
    };

export interface WatchHandler {
  /** Set by a watcher that keeps values itself: previous entries are then neither read nor shipped, which makes every update cheaper. */
  readonly withoutPrevious?: boolean;
  events(batch: readonly StoreEvent[]): void;
  /** No event at or below this revision will come any more. Called after `events` and when the store learns of it otherwise. */
  progress?(revision: number): void;
  /** The watch ended and will deliver nothing more: `compacted`, `closed`, or a fault. Not called after `Watch.close`. */
  failed(error: StoreError): void;
}

export interface Watch {
  close(): void;
  /** Asks the engine how far it is; the answer comes as `progress`. A driver that always knows calls it back at once. */
  requestProgress(): void;
}

export interface SnapshotInfo {
  readonly revision: number;
  readonly keys: number;
  readonly bytes: number;
}

export type StoreErrorCode =
  /** create: the key is there. */
  | 'exists'
  /** create: what it depends on is not there, or at another revision. */
  | 'unmet'
  /** update, delete: the key is not there. */
  | 'missing'
  /** update, delete: the key is at another revision. */
  | 'conflict'
  /** list, watch: the revision is older than what is kept. */
  | 'compacted'
  /** list, watch: the revision has not been made yet. */
  | 'future'
  /** The disk is full or the file cannot be written: nothing was changed, reads go on. */
  | 'readonly'
  /** The file is damaged: nothing was changed. */
  | 'corrupt'
  /** A file with an export is damaged: nothing was imported. */
  | 'damaged'
  /** The engine is older than this driver can use. */
  | 'outdated'
  /** The engine cannot be reached; a write may or may not have happened. */
  | 'unavailable'
  /** Another process holds the store. */
  | 'locked'
  /** The value or the key is larger than the engine takes, or the key is not well-formed text. */
  | 'toolarge'
  /** The store was closed. */
  | 'closed';

export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** For exists and conflict: what is there now, when the driver knows. */
  readonly current: Entry | undefined;
  /** For compacted: the oldest revision that is still kept. */
  readonly compactedRevision: number | undefined;

  constructor(code: StoreErrorCode, message: string, more: { current?: Entry; compactedRevision?: number; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'StoreError';
    this.code = code;
    this.current = more.current;
    this.compactedRevision = more.compactedRevision;
  }
}
