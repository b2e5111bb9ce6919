import type { Entry, StoreError } from '../contract.ts';
import { toStoreError } from './errors.ts';
import { toEntries } from './events.ts';
import type { Reply, Request } from './messages.ts';

/** A request that the worker answers under an id; `Body` omits the id. */
export type Numbered = Extract<Request, { readonly id: number }>;
export type Body<Type> = Type extends unknown ? Omit<Type, 'id'> : never;

/** `done` is called directly from the worker's message, with no turn of the event loop in between. */
export type Answer = { readonly entries: Entry[]; readonly reply: Reply } | { readonly error: StoreError };

interface PendingRead {
  readonly entries: Entry[];
  readonly done: (answer: Answer) => void;
}

/** Requests that the worker has not finished answering. */
export class PendingReads {
  readonly #pending = new Map<number, PendingRead>();
  #next = 1;

  add(done: (answer: Answer) => void): number {
    const id = this.#next++;
    this.#pending.set(id, { entries: [], done });
    return id;
  }

  receive(reply: Extract<Reply, { readonly id: number }>): void {
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    if (reply.type === 'rows') for (const entry of toEntries(reply.rows)) pending.entries.push(entry);
    else {
      this.#pending.delete(reply.id);
      pending.done(reply.type === 'failed' ? { error: toStoreError(reply.failure) } : { entries: pending.entries, reply });
    }
  }

  rejectAll(error: StoreError): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { done } of pending) done({ error });
  }
}
