import { prefixRange, type Range, type Store, StoreError, type StoreEvent } from '@capstan/store';
import fc from 'fast-check';
import { expect } from 'vitest';
import { Model, type Write } from './model.ts';

/** One step of a random history. Numbers between 0 and 1 choose among the existing keys and revisions when the step is taken. */
export type Step =
  | { readonly type: 'write'; readonly intents: readonly Intent[] }
  | { readonly type: 'list'; readonly range: Range; readonly at: number; readonly limit: number }
  | { readonly type: 'watch'; readonly range: Range; readonly at: number }
  | { readonly type: 'compact'; readonly at: number }
  | { readonly type: 'reopen' };

interface Intent {
  readonly type: 'create' | 'update' | 'delete';
  readonly key: string;
  readonly value: string;
  /** Whether it expects the current revision, or a wrong one. */
  readonly stale: boolean;
}

const key = fc.constantFrom('/a', '/a/1', '/a/2', '/b/1', '/b/\ue000', '/b/\u{1f680}', '/c');
const range = fc.constantFrom(prefixRange('/'), prefixRange('/a/'), prefixRange('/b/'), { start: '/a/2', end: '/c' });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const intent = fc.record({
  type: fc.constantFrom('create', 'create', 'update', 'update', 'delete'),
  key,
  value: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.constant('v'.repeat(9_000))),
  stale: fc.boolean(),
});

export const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant('write' as const), intents: fc.array(intent, { minLength: 1, maxLength: 8 }) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('list' as const), range, at: share, limit: fc.integer({ min: 0, max: 4 }) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('watch' as const), range, at: share }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('compact' as const), at: share }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen' as const) }) },
  ),
  { minLength: 1, maxLength: 30 },
);

/** A store, and how it differs from others within the contract. */
export interface Engine {
  readonly open: () => Promise<Store>;
  /** How far below the compacted revision it may still be able to resume a watch. */
  readonly edge: number;
}

/** Runs the steps on a store and on the model, and compares the results. */
export async function compareWithModel(taken: readonly Step[], { open, edge }: Engine): Promise<void> {
  let store = await open();
  try {
    let newest = await store.currentRevision();
    const model = new Model(newest);
    for (const step of taken) {
      switch (step.type) {
        case 'write':
          await write(store, model, step.intents);
          break;
        case 'list':
          await list(store, model, step);
          break;
        case 'watch':
          await watch(store, model, { ...step, edge });
          break;
        case 'compact': {
          const revision = choose(model, step.at);
          await store.compact(revision);
          const compacted = await store.compactedRevision();
          expect(compacted).toBeGreaterThanOrEqual(model.compacted);
          if (revision > model.first) expect(compacted).toBeGreaterThan(revision - edge);
          expect(compacted).toBeLessThanOrEqual(Math.max(model.compacted, revision));
          model.compacted = compacted;
          break;
        }
        case 'reopen':
          await store[Symbol.asyncDispose]();
          store = await open();
      }
      const current = await store.currentRevision();
      if (model.revision > newest) expect(current).toBeGreaterThanOrEqual(model.revision);
      else expect(current).toBe(newest);
      newest = current;
    }
    expect((await store.list(prefixRange('/'))).entries).toEqual(model.list(prefixRange('/'), model.revision));
  } finally {
    await store[Symbol.asyncDispose]();
  }
}

function choose(model: Model, at: number): number {
  return model.first + Math.round((model.revision - model.first) * at);
}

/** All at once. The successful writes must be a valid history in the order of their revisions; the others must have failed for a reason. */
async function write(store: Store, model: Model, intents: readonly Intent[]): Promise<void> {
  const before = model.stateAt(model.revision);
  const writes = intents.map((wanted) => toWrite(wanted, (before.get(wanted.key)?.revision ?? 0) + (wanted.stale ? 1 : 0)));
  const results = await Promise.allSettled(writes.map((wanted) => send(store, wanted)));
  const made = results
    .flatMap((result, index) => (result.status === 'fulfilled' ? [{ wanted: writes[index]!, revision: result.value }] : []))
    .toSorted((a, b) => a.revision - b.revision);
  const wasPossible = writes.map((wanted) => new Set([model.refusal(wanted)]));
  for (const { wanted, revision } of made) {
    expect(model.refusal(wanted)).toBeUndefined();
    expect(revision).toBeGreaterThan(model.revision);
    model.apply(wanted, revision);
    for (const [index, other] of writes.entries()) wasPossible[index]!.add(model.refusal(other));
  }
  for (const [index, result] of results.entries()) {
    if (result.status === 'fulfilled') continue;
    expect(result.reason).toBeInstanceOf(StoreError);
    expect([...wasPossible[index]!]).toContain((result.reason as StoreError).code);
  }
}

function toWrite({ type, key: name, value }: Intent, revision: number): Write {
  return type === 'create' ? { type, key: name, value } : { type, key: name, value, revision };
}

function send(store: Store, wanted: Write): Promise<number> {
  if (wanted.type === 'create') return store.create(wanted.key, wanted.value);
  if (wanted.type === 'update') return store.update(wanted.key, wanted.value, wanted.revision);
  return store.delete(wanted.key, wanted.revision);
}

async function list(store: Store, model: Model, step: Extract<Step, { type: 'list' }>): Promise<void> {
  const revision = choose(model, step.at);
  const page = store.list(step.range, { revision, ...(step.limit > 0 && { limit: step.limit }) });
  if (revision < model.compacted) {
    await expect(page).rejects.toMatchObject({ code: 'compacted' });
    return;
  }
  const all = model.list(step.range, revision);
  const shown = step.limit > 0 ? all.slice(0, step.limit) : all;
  expect(await page).toEqual({ revision, entries: shown, remaining: all.length - shown.length });
}

/** From an old revision up to the newest, which both drivers reach through history. */
async function watch(store: Store, model: Model, step: Extract<Step, { type: 'watch' }> & { edge: number }): Promise<void> {
  const after = choose(model, step.at);
  const received: StoreEvent[] = [];
  const { promise, resolve } = Promise.withResolvers<'complete' | StoreError>();
  const handle = store.watch(step.range, after, {
    events: (batch) => {
      received.push(...batch);
    },
    progress: (revision) => {
      if (revision >= model.revision) resolve('complete');
    },
    failed: resolve,
  });
  const asking = setInterval(() => handle.requestProgress(), 5);
  const outcome = await promise;
  clearInterval(asking);
  handle.close();
  if (after < model.compacted - step.edge) expect(outcome).toMatchObject({ code: 'compacted' });
  else if (outcome === 'complete') expect(received).toEqual(model.eventsAfter(after, step.range));
  else {
    expect(after).toBeLessThan(model.compacted);
    expect(outcome).toMatchObject({ code: 'compacted' });
  }
}
