import type { ClockOrigin, UsageAppend, UsageAppended, UsageEnd, UsageFact, UsageState } from '@capstan/api';
import { prefixRange, type Store, StoreError } from '@capstan/store';

const facts = '/usage/facts/';
const clockKey = '/usage/clock';
const originKey = '/usage/clock-origin';
const pageLength = 1_000;
/** How often a write is tried again when others write the same key. */
const mostTries = 20;

/**
 * Who had which part of the fleet, and when. It lies in the store of the objects, outside of their keys: it is as durable as they are and part of every snapshot, it is
 * not held in memory, and it outlives workspaces. A fact is created once and gets its end once; nothing else ever changes.
 */
export class UsageLedger {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async append({ facts: begun, ends, clock, origin }: UsageAppend): Promise<UsageAppended> {
    await Promise.all(begun.map((fact) => this.#begin(fact)));
    await Promise.all(ends.map((end) => this.#end(end)));
    if (origin !== undefined) await this.#keep(originKey, origin, (before) => JSON.stringify(before) === JSON.stringify(origin));
    return { clock: await this.#keep(clockKey, clock, (before) => before >= clock) };
  }

  /** The first to report a fact decides. */
  async #begin(fact: UsageFact): Promise<void> {
    try {
      await this.#store.create(`${prefixOf(fact)}${fact.attempt}.${fact.part}`, JSON.stringify(fact));
    } catch (error) {
      if (!isCode(error, 'exists')) throw error;
    }
  }

  /** Facts that began after the one that goes on stay: a report that comes late says nothing about them. */
  async #end({ end, except, ...owner }: UsageEnd): Promise<void> {
    const all: { readonly key: string; readonly fact: UsageFact }[] = [];
    for await (const { key, value } of this.#entries(prefixOf(owner))) all.push({ key, fact: JSON.parse(value) as UsageFact });
    const latest = except === undefined ? undefined : all.find(({ fact }) => fact.attempt === except)?.fact.begin;
    for (const { key, fact } of all)
      if (fact.attempt !== except && (latest === undefined || fact.begin <= latest)) await this.#endOne(key, end);
  }

  async #endOne(key: string, end: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const entry = await this.#store.get(key);
      if (entry === undefined) return;
      const fact = JSON.parse(entry.value) as UsageFact;
      if (fact.end !== undefined) return;
      try {
        await this.#store.update(key, JSON.stringify({ ...fact, end: end < fact.begin ? fact.begin : end }), entry.revision);
        return;
      } catch (error) {
        if (!isCode(error, 'conflict') || tries >= mostTries) throw error;
      }
    }
  }

  /** Writes a value unless the one before is as good. Returns the one that counts. */
  async #keep<T>(key: string, value: T, isEnough: (before: T) => boolean): Promise<T> {
    for (let tries = 0; ; tries++) {
      const entry = await this.#store.get(key);
      const before = entry && (JSON.parse(entry.value) as T);
      if (before !== undefined && isEnough(before)) return before;
      try {
        if (entry === undefined) await this.#store.create(key, JSON.stringify(value));
        else await this.#store.update(key, JSON.stringify(value), entry.revision);
        return value;
      } catch (error) {
        if (!(isCode(error, 'conflict') || isCode(error, 'exists')) || tries >= mostTries) throw error;
      }
    }
  }

  async state(owner: Pick<UsageFact, 'cluster' | 'uid'> | undefined): Promise<UsageState> {
    const [clock, origin] = await Promise.all([clockKey, originKey].map((key) => this.#store.get(key)));
    let [begun, open] = [false, false];
    if (owner !== undefined)
      for await (const { value } of this.#entries(prefixOf(owner))) {
        begun = true;
        open ||= (JSON.parse(value) as UsageFact).end === undefined;
      }
    return {
      ...(clock && { clock: JSON.parse(clock.value) as string }),
      ...(origin && { origin: JSON.parse(origin.value) as ClockOrigin }),
      begun,
      open,
    };
  }

  /** The facts of a workspace, or of all if undefined. */
  async *read(cluster: string | undefined): AsyncGenerator<UsageFact, void, undefined> {
    for await (const { value } of this.#entries(cluster === undefined ? facts : `${facts}${cluster}/`))
      yield JSON.parse(value) as UsageFact;
  }

  async *#entries(prefix: string): AsyncGenerator<{ readonly key: string; readonly value: string }, void, undefined> {
    const { start, end } = prefixRange(prefix);
    for (let next = start; ; ) {
      const { entries, remaining } = await this.#store.list({ start: next, end }, { limit: pageLength });
      yield* entries;
      if (remaining === 0 || entries.length === 0) return;
      next = `${entries.at(-1)!.key}\0`;
    }
  }
}

const prefixOf = ({ cluster, uid }: Pick<UsageFact, 'cluster' | 'uid'>): string => `${facts}${cluster}/${uid}.`;

const isCode = (error: unknown, code: StoreError['code']): boolean => error instanceof StoreError && error.code === code;
