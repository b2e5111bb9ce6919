import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '@capstan/machinery';
import { Failure } from '../../failure.ts';
import type { Progress } from '../progress.ts';
import { isPassing } from '../units.ts';

export interface Persistence {
  readonly progress: Progress;
  /** How many bytes have been copied: as long as there are more, it is tried again. */
  readonly moved: () => number;
  /** In milliseconds, without any progress. */
  readonly patience?: number;
}

/** Tries again while connections are lost. The attempt learns whether it is the first. */
export async function persist(attempt: (isAgain: boolean) => Promise<void>, options: Persistence): Promise<void> {
  const { progress, moved, patience = 120_000 } = options;
  const backoff = new Backoff({ base: 250, max: 5_000, random: Math.random });
  let [before, end] = [-1, 0];
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await attempt(isAgain);
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (moved() > before) {
        before = moved();
        end = Date.now() + patience;
        backoff.reset();
      }
      const reason = (error as Error).message;
      if (Date.now() > end)
        throw new Failure('unexpected', `the connection was lost (${reason}). The same command with --continue goes on with it.`, error);
      progress.say(`The connection was lost (${reason}). Going on where it broke…`);
      await sleep(backoff.next());
    }
  }
}
