import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BackoffLimits } from '@capstan/machinery';
import type { ControllerContext, Runnable } from './runnable.ts';

export interface KeepOptions {
  /** Called with each failure, and the milliseconds until the next start. */
  readonly onFailure: (error: unknown, wait: number) => void;
  readonly backoff?: BackoffLimits;
}

const defaultBackoff: BackoffLimits = { base: 200, max: 30_000 };
/** In milliseconds: the next failure of something that ran this long is a new one. */
const healthyAfter = 60_000;

/** Runs until the context's signal. A run that fails is reported and started again with growing waits, so that it never harms others. */
export async function keepRunning(
  runnable: Pick<Runnable, 'run'>,
  context: ControllerContext,
  { onFailure, backoff: limits = defaultBackoff }: KeepOptions,
): Promise<void> {
  const { signal } = context;
  const backoff = new Backoff(limits);
  while (!signal.aborted) {
    const began = performance.now();
    try {
      return await runnable.run(context);
    } catch (error) {
      if (signal.aborted) return;
      if (performance.now() - began > healthyAfter) backoff.reset();
      const wait = backoff.next();
      onFailure(error, wait);
      await sleep(wait, undefined, { signal }).catch(() => {});
    }
  }
}
