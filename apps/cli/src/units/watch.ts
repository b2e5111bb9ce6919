import { setTimeout as sleep } from 'node:timers/promises';
import type { GPUUnit } from '@capstan/api';
import { isExpired, isNotFound } from '@capstan/client';
import { Backoff } from '@capstan/machinery';
import { isPassing, type Units } from './units.ts';

export interface WatchUnitOptions {
  readonly name: string;
  /** The same object, or any of the name if absent. */
  readonly uid?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the server cannot be reached, and with undefined when it can again. */
  readonly onTrouble?: ((reason: string | undefined) => void) | undefined;
}

/** Every state of a unit, from now on, whatever happens to the connection. Ends when the unit is gone or the signal aborts. */
export async function* watchUnit(
  units: Units,
  { name, uid, signal, onTrouble }: WatchUnitOptions,
): AsyncGenerator<GPUUnit, void, undefined> {
  const backoff = new Backoff({ base: 200, max: 3_000, random: Math.random });
  const isSame = (unit: GPUUnit): boolean => uid === undefined || unit.metadata.uid === uid;
  let isTroubled = false;
  const isStopped = (): boolean => signal?.aborted === true;
  while (!isStopped()) {
    try {
      const found = await units.resource.get(name, { signal });
      if (isTroubled) onTrouble?.(undefined);
      isTroubled = false;
      backoff.reset();
      if (!isSame(found)) return;
      yield found;
      const { resourceVersion = '' } = found.metadata;
      const events = units.resource.watch({ resourceVersion, fieldSelector: `metadata.name=${name}`, allowWatchBookmarks: true, signal });
      for await (const { type, object } of events) {
        if (type === 'BOOKMARK') continue;
        if (type === 'DELETED' || !isSame(object)) return;
        yield object;
      }
    } catch (error) {
      if (isStopped() || isNotFound(error)) return;
      if (!isPassing(error) && !isExpired(error)) throw error;
      if (!isTroubled) onTrouble?.((error as Error).message);
      isTroubled = true;
      await sleep(backoff.next(), undefined, { ...(signal && { signal }) }).catch(() => {});
    }
  }
}

/** The first state that satisfies the condition; undefined if the unit is gone or the signal aborts before. */
export async function unitUntil(units: Units, options: WatchUnitOptions, isDone: (unit: GPUUnit) => boolean): Promise<GPUUnit | undefined> {
  for await (const unit of watchUnit(units, options)) if (isDone(unit)) return unit;
  return undefined;
}
