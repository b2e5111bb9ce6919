import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import type { Store } from '../contract.ts';

export { Recorder } from './recorder.ts';

import { compactionCases } from './compaction.ts';
import { listCases } from './lists.ts';
import { orderCases } from './order.ts';
import { restartCases } from './restart.ts';
import { watchCases } from './watches.ts';
import { writeCases } from './writes.ts';

/** The storage of a driver, which a test can open more than once to see what survives. */
export interface StorePlace extends AsyncDisposable {
  open(): Promise<Store>;
}

/** Each case gets an open store on empty storage of its own. */
export interface Bench {
  readonly store: Store;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<Store>;
}

/** The behaviour that all drivers share. */
export function storeSuite(
  name: string,
  engine: { start?(): Promise<void>; stop?(): Promise<void>; makePlace(): Promise<StorePlace> },
): void {
  describe(name, () => {
    let place: StorePlace;
    let store: Store;
    const bench: Bench = {
      get store() {
        return store;
      },
      async reopen() {
        await store[Symbol.asyncDispose]();
        store = await place.open();
        return store;
      },
    };
    beforeAll(async () => engine.start?.());
    afterAll(async () => engine.stop?.());
    beforeEach(async () => {
      place = await engine.makePlace();
      store = await place.open();
    });
    afterEach(async () => {
      await store[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    });
    writeCases(bench);
    listCases(bench);
    watchCases(bench);
    orderCases(bench);
    compactionCases(bench);
    restartCases(bench);
  });
}
