import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves when the time is over, or with the signal. */
export async function pause(time: number, signal: AbortSignal): Promise<void> {
  if (time === Number.POSITIVE_INFINITY) {
    if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  } else await sleep(Math.min(Math.max(0, time), 2 ** 31 - 1), undefined, { signal }).catch(() => {});
}
