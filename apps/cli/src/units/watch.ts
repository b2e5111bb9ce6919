import { setTimeout as sleep } from 'node:timers/promises';
import type { GPUUnit } from '@capstan/api';
import { isExpired, isNotFound, type Resource } from '@capstan/client';
import { Backoff, type KubeObject } from '@capstan/machinery';
import { isPassing, type Units } from './units.ts';

export interface WatchUnitOptions {
  readonly name: string;
  /** The same object, or any of the name if absent. */
  readonly uid?: string | undefined;
  /** A state that is known already, such as the answer to its creation: it is not read again. */
  readonly from?: KubeObject | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the server cannot be reached, and with undefined when it can again. */
  readonly onTrouble?: ((reason: string | undefined) => void) | undefined;
}

/** Every state of a unit, from now on, whatever happens to the connection. Ends when the unit is gone or the signal aborts. */
export const watchUnit = (units: Units, options: WatchUnitOptions): AsyncGenerator<GPUUnit, void, undefined> =>
  watchObject(units.resource, options);

/** The same for any object. */
export async function* watchObject<T extends KubeObject>(
  resource: Resource<T>,
  { name, uid, from, signal, onTrouble }: WatchUnitOptions,
): AsyncGenerator<T, void, undefined> {
  const backoff = new Backoff({ base: 200, max: 3_000, random: Math.random });
  const isSame = (object: T): boolean => uid === undefined || object.metadata.uid === uid;
  let isTroubled = false;
  let known = from as T | undefined;
  const isStopped = (): boolean => signal?.aborted === true;
  while (!isStopped()) {
    try {
      const found = known ?? (await resource.get(name, { signal }));
      known = undefined;
      if (isTroubled) onTrouble?.(undefined);
      isTroubled = false;
      if (!isSame(found)) return;
      yield found;
      const { resourceVersion = '' } = found.metadata;
      const events = resource.watch({ resourceVersion, fieldSelector: `metadata.name=${name}`, allowWatchBookmarks: true, signal });
      for await (const { type, object } of events) {
        backoff.reset();
        if (type === 'BOOKMARK') continue;
        if (type === 'DELETED' || !isSame(object)) return;
        yield object;
      }
    } catch (error) {
      if (isStopped() || isNotFound(error)) return;
      if (!isPassing(error) && !isExpired(error)) throw error;
      if (!isTroubled) onTrouble?.((error as Error).message);
      isTroubled = true;
    }
    // A server may end watches as soon as they begin.
    await sleep(backoff.next(), undefined, { ...(signal && { signal }) }).catch(() => {});
  }
}

/** The first state that satisfies the condition; undefined if the unit is gone or the signal aborts before. */
export async function unitUntil(units: Units, options: WatchUnitOptions, isDone: (unit: GPUUnit) => boolean): Promise<GPUUnit | undefined> {
  for await (const unit of watchUnit(units, options)) if (isDone(unit)) return unit;
  return undefined;
}
