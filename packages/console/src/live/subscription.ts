import type { Status } from '@capstan/machinery';
import type { Follow, Follower } from './follow.ts';
import { changesMessage, errorMessage, listMessage, sampleMessage } from './messages.ts';
import type { Reader, Sampler } from './sampler.ts';

/** A tab, as its subscriptions see it. */
export interface Holder {
  /** There is something to take. */
  wake(subscription: Subscription): void;
  /** Whether this many more characters may wait for the tab. Negative numbers give room back. */
  mayWait(characters: number): boolean;
}

type FollowedList = Pick<Follow, 'add' | 'remove' | 'list'>;

/** One key of a tab. It keeps what the tab has not taken yet, and never more than is needed to bring the tab up to date. */
export interface Subscription extends Disposable {
  /** The next message; undefined if there is none now. */
  take(): string | undefined;
}

/** A list that a tab follows. If too many changes wait, the tab gets a new list instead. */
export class ListSubscription implements Subscription, Follower {
  readonly #key: string;
  readonly #follow: FollowedList;
  readonly #holder: Holder;
  #needsList = false;
  #changes: string[] = [];
  #size = 0;
  #failure: Status | undefined;

  constructor(key: string, follow: FollowedList, holder: Holder) {
    this.#key = key;
    this.#follow = follow;
    this.#holder = holder;
    follow.add(this);
  }

  listed(): void {
    this.#needsList = true;
    this.#dropChanges();
    this.#holder.wake(this);
  }

  changed(change: string): void {
    // The list will contain it.
    if (this.#needsList) return;
    if (!this.#holder.mayWait(change.length)) return this.listed();
    this.#changes.push(change);
    this.#size += change.length;
    this.#holder.wake(this);
  }

  failed(status: Status): void {
    this.#failure = status;
    this.#holder.wake(this);
  }

  take(): string | undefined {
    if (this.#failure !== undefined) {
      const status = this.#failure;
      this.#failure = undefined;
      return errorMessage(this.#key, status);
    }
    const { list } = this.#follow;
    if (this.#needsList && list !== undefined) {
      this.#needsList = false;
      return listMessage(this.#key, list);
    }
    return this.#changes.length === 0 ? undefined : changesMessage(this.#key, this.#dropChanges());
  }

  #dropChanges(): readonly string[] {
    const changes = this.#changes;
    this.#holder.mayWait(-this.#size);
    this.#changes = [];
    this.#size = 0;
    return changes;
  }

  [Symbol.dispose](): void {
    this.#follow.remove(this);
    this.#dropChanges();
  }
}

/** A value that a tab samples. Only the last one waits. */
export class SampleSubscription implements Subscription, Reader {
  readonly seconds: number;
  readonly #key: string;
  readonly #sampler: Sampler;
  readonly #holder: Holder;
  #next: string | undefined;

  constructor({ key, seconds }: { readonly key: string; readonly seconds: number }, sampler: Sampler, holder: Holder) {
    this.seconds = seconds;
    this.#key = key;
    this.#sampler = sampler;
    this.#holder = holder;
    sampler.add(this);
  }

  sampled(value: string): void {
    this.#next = sampleMessage(this.#key, value);
    this.#holder.wake(this);
  }

  failed(status: Status): void {
    this.#next = errorMessage(this.#key, status);
    this.#holder.wake(this);
  }

  take(): string | undefined {
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  [Symbol.dispose](): void {
    this.#sampler.remove(this);
  }
}
