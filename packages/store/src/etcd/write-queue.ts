import { type Guard, StoreError } from '../contract.ts';
import type { Connection } from './connection.ts';
import { toStoreError } from './failures.ts';
import { GrpcError } from './grpc-error.ts';
import { etcdRevisionOf, positionIn, positionOf, positions, revisionAt } from './revisions.ts';
import { decodeSwaps, encodeSwaps, type Swap, type SwapGuard, type SwapOutcome, type SwapResponse, sizeOf } from './swap-messages.ts';

const swapPath = '/etcdserverpb.KV/Txn';
/** etcd accepts 128 operations per transaction by default (`--max-txn-ops`), and the outer transaction counts too. */
const mostWrites = 120;
/** etcd accepts requests of 1.5 MiB by default (`--max-request-bytes`), and a character may take three bytes. */
const mostSize = 480 * 1024;
const mostInFlight = 2;
/**
 * A transaction that has been unanswered for this long no longer holds back others: each call has its own deadline, and these must not add
 * up.
 */
const longestHold = 1_000;
/** To etcd, revision 0 means that the key does not exist, which only `create` may expect. */
const neverGiven = Number.MAX_SAFE_INTEGER;

interface PendingWrite extends Swap {
  /** Without the store's prefix. */
  readonly name: string;
  readonly position: number;
  readonly resolve: (revision: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: writes that arrive while transactions are pending form the next one, so that a busy etcd gets few large requests instead of
 * many small ones. Writes in one transaction are concurrent, so any order is correct; they are ordered by position.
 */
export class WriteQueue {
  readonly #connection: Pick<Connection, 'call'>;
  readonly #prefix: string;
  readonly #skip: number;
  #waiting: PendingWrite[] = [];
  /** Transactions that hold back others. */
  #inFlight = 0;
  #unanswered = 0;
  #isScheduled = false;
  #isClosed = false;
  #idle: (() => void) | undefined;
  /** As far as known: a cluster may be configured with lower limits. */
  #mostWrites = mostWrites;
  #mostSize = mostSize;
  /** For each position, the number of the transaction that last used it. */
  readonly #usedBy = new Float64Array(positions);
  #transactions = 0;

  constructor(connection: Pick<Connection, 'call'>, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#skip = Buffer.byteLength(prefix);
  }

  /** The key must not exist, and the guards must hold. */
  create(name: string, value: string, guards: readonly Guard[] = []): Promise<number> {
    const checked = guards.map(({ key, revision }) => ({
      key: this.#prefix + key,
      expected: revision === undefined ? 0 : expectedByEtcd(revision, positionOf(key)),
    }));
    return this.#write(name, { value, expected: 'absent', ...(checked.length > 0 && { guards: checked }) });
  }

  /** Without a value it deletes. `expected` is the revision at which the key must be. */
  write(name: string, value: string | undefined, expected: number | 'absent'): Promise<number> {
    return this.#write(name, { value, expected });
  }

  #write(
    name: string,
    { value, expected, guards }: { value: string | undefined; expected: number | 'absent'; guards?: readonly SwapGuard[] },
  ): Promise<number> {
    if (this.#isClosed) return Promise.reject(new StoreError('closed', 'the store was closed'));
    if (!name.isWellFormed()) {
      const message = `the key ${JSON.stringify(name)} contains half of a surrogate pair: keys are well-formed text`;
      return Promise.reject(new StoreError('toolarge', message));
    }
    const position = positionOf(name);
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        key: this.#prefix + name,
        value,
        expected: expected === 'absent' ? 0 : expectedByEtcd(expected, position),
        name,
        position,
        resolve,
        reject,
        ...(guards !== undefined && { guards }),
      });
      this.#schedule();
    });
  }

  /** Rejects new writes, and waits for the pending ones. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    if (this.#unanswered > 0 || this.#waiting.length > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  /** Runs after all pending input was read, which may bring more writes. */
  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= mostInFlight) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#waiting.length > 0) void this.#send(this.#take());
    });
  }

  /** The oldest writes that can share a transaction, by position. */
  #take(): PendingWrite[] {
    const taken: PendingWrite[] = [];
    const left: PendingWrite[] = [];
    const number = ++this.#transactions;
    let size = 0;
    for (const write of this.#waiting) {
      const grown = size + sizeOf(write);
      const isFull = taken.length === this.#mostWrites || (taken.length > 0 && grown > this.#mostSize);
      if (isFull || this.#usedBy[write.position] === number) left.push(write);
      else {
        this.#usedBy[write.position] = number;
        taken.push(write);
        size = grown;
      }
    }
    this.#waiting = left;
    return taken.sort((a, b) => a.position - b.position);
  }

  async #send(writes: PendingWrite[]): Promise<void> {
    this.#inFlight++;
    this.#unanswered++;
    if (this.#waiting.length > 0) this.#schedule();
    let isHolding = true;
    const release = (): void => {
      if (isHolding) this.#inFlight--;
      isHolding = false;
      if (this.#waiting.length > 0) this.#schedule();
    };
    const timer = setTimeout(release, longestHold);
    try {
      settle(writes, await this.#swap(writes));
    } catch (error) {
      if (writes.length > 1 && error instanceof StoreError && error.code === 'toolarge') this.#sendSmaller(writes, error);
      else for (const write of writes) write.reject(errorOf(write, error));
    }
    clearTimeout(timer);
    release();
    this.#unanswered--;
    if (this.#unanswered === 0 && this.#waiting.length === 0) this.#idle?.();
  }

  #swap(writes: PendingWrite[]): Promise<SwapResponse> {
    return this.#connection.call({
      path: swapPath,
      body: encodeSwaps(writes),
      decode: (buffer) => decodeSwaps(buffer, writes.length, this.#skip),
      repeatable: false,
      doing: 'write',
    });
  }

  /** The cluster has lower limits than the defaults. It applied none of the writes. */
  #sendSmaller(writes: PendingWrite[], { cause }: StoreError): void {
    if (cause instanceof GrpcError && cause.details.includes('too many operations')) this.#mostWrites = writes.length >> 1;
    else this.#mostSize = writes.reduce((size, write) => size + sizeOf(write), 0) >> 1;
    this.#waiting = [...writes, ...this.#waiting];
  }
}

/** This key never had a revision with another position, so no etcd revision may match. */
function expectedByEtcd(revision: number, position: number): number {
  return (positionIn(revision) === position && etcdRevisionOf(revision)) || neverGiven;
}

function settle(writes: readonly PendingWrite[], { etcdRevision, outcomes }: SwapResponse): void {
  for (const [index, write] of writes.entries()) {
    const outcome = outcomes[index]!;
    if (outcome.succeeded) write.resolve(revisionAt(etcdRevision, write.position));
    else write.reject(refusal(write, outcome));
  }
}

function refusal({ name, expected }: PendingWrite, { current }: SwapOutcome): StoreError {
  if (current === undefined && expected === 0)
    return new StoreError('unmet', `${name} was not created: an object it depends on was deleted or has changed`);
  if (current === undefined) return new StoreError('missing', `${name} does not exist`);
  return expected === 0
    ? new StoreError('exists', `${name} exists at revision ${current.revision}`, { current })
    : new StoreError('conflict', `${name} has changed: it is now at revision ${current.revision}`, { current });
}

/** The error of a failed transaction, worded for each write: no caller may learn of the others' keys. */
function errorOf({ name }: PendingWrite, error: unknown): StoreError {
  const cause = error instanceof StoreError && error.cause instanceof GrpcError ? error.cause : error;
  return toStoreError(cause, `write ${name}`);
}
