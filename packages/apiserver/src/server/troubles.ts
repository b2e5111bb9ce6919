import { Trouble } from '@capstan/machinery';
import type { Store } from '@capstan/store';
import { Rejections } from '../authn/rejections.ts';

/** In milliseconds: how often is looked. Shorter failures are not worth a line. */
const lookEvery = 1_000;

export interface Troubles extends Disposable {
  readonly rejections: Rejections;
}

/** Logs what keeps the server from its work: a store that fails, and credentials that are rejected. One look a second at all of it. */
export function reportTroubles({
  store,
  log,
  every = lookEvery,
}: {
  readonly store: Pick<Store, 'failure'>;
  readonly log: (line: string) => void;
  readonly every?: number;
}): Troubles {
  const now = (): number => performance.now();
  const rejections = new Rejections({ log, now });
  const storeTrouble = new Trouble({
    log,
    now,
    begins: (why) => `the store fails: ${why}; trying again. Until it works, nothing can be written, and /readyz says so`,
    lasts: (why, { duration }) => `the store has failed for ${duration}: ${why}`,
    ends: ({ duration }) => `the store works again after ${duration}`,
  });
  const look = (): void => {
    const { failure } = store;
    if (failure === undefined) storeTrouble.clear('store');
    else storeTrouble.report(failure.message, 'store');
    rejections.settle();
  };
  const timer = setInterval(look, every).unref();
  return { rejections, [Symbol.dispose]: () => clearInterval(timer) };
}
