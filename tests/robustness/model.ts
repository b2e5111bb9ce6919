import type { Entry, Range, StoreEvent } from '@capstan/store';
import { compareKeys } from '@capstan/store';

/** One requested write. `revision` is the expected one; a creation expects none. */
export type Write =
  | { readonly type: 'create'; readonly key: string; readonly value: string }
  | { readonly type: 'update'; readonly key: string; readonly value: string; readonly revision: number }
  | { readonly type: 'delete'; readonly key: string; readonly revision: number };

/** The contract of the store as the simplest program that fulfils it: the list of all events, from which everything else follows. */
export class Model {
  readonly first: number;
  readonly events: StoreEvent[] = [];
  compacted = 0;

  /** `first` is the revision of the empty store. */
  constructor(first: number) {
    this.first = first;
  }

  get revision(): number {
    return this.events.at(-1)?.revision ?? this.first;
  }

  stateAt(revision: number): Map<string, Entry> {
    const state = new Map<string, Entry>();
    for (const event of this.events) {
      if (event.revision > revision) break;
      if (event.type === 'delete') state.delete(event.key);
      else state.set(event.key, { key: event.key, value: event.value, revision: event.revision, createRevision: event.createRevision });
    }
    return state;
  }

  list(range: Range, revision: number): Entry[] {
    return [...this.stateAt(revision).values()]
      .filter(({ key }) => compareKeys(key, range.start) >= 0 && compareKeys(key, range.end) < 0)
      .toSorted((a, b) => compareKeys(a.key, b.key));
  }

  eventsAfter(revision: number, range: Range): StoreEvent[] {
    return this.events.filter(
      ({ key, revision: at }) => at > revision && compareKeys(key, range.start) >= 0 && compareKeys(key, range.end) < 0,
    );
  }

  /** Why the write would be rejected now; undefined if it would succeed. */
  refusal(write: Write): 'exists' | 'missing' | 'conflict' | undefined {
    const present = this.stateAt(this.revision).get(write.key);
    if (write.type === 'create') return present === undefined ? undefined : 'exists';
    if (present === undefined) return 'missing';
    return present.revision === write.revision ? undefined : 'conflict';
  }

  /** Applies a write that `refusal` allows, at a revision above all before. */
  apply(write: Write, revision: number): void {
    const previous = this.stateAt(this.revision).get(write.key);
    const { key } = write;
    if (write.type === 'delete') this.events.push({ type: 'delete', revision, key, previous });
    else
      this.events.push({ type: 'put', revision, key, value: write.value, createRevision: previous?.createRevision ?? revision, previous });
  }
}
