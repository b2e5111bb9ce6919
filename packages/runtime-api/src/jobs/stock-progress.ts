import type { NodeBooking, NodeUnit } from '@capstan/api';

/** How far the stock of an offering is. */
export interface StockProgress {
  readonly booked: number;
  readonly ready: number;
  /** Why one of those that are booked is not ready. */
  readonly problem: string | undefined;
}

export function stockProgress(offering: string, bookings: readonly NodeBooking[], nodeUnits: readonly NodeUnit[]): StockProgress {
  const warm = new Map(nodeUnits.flatMap((one) => (one.spec.warm ? [[one.spec.allocation, one] as const] : [])));
  const booked = bookings.flatMap(({ spec }) => spec.entries).filter(({ stock }) => stock?.offering === offering);
  const prepared = booked.map(({ allocation }) => warm.get(allocation.uid)?.status);
  const ready = prepared.filter((status) => status?.phase === 'Warm').length;
  const problem = prepared.find((status) => status?.phase !== 'Warm' && status?.message !== undefined)?.message;
  return { booked: booked.length, ready, problem };
}

/** `3 of 5 are ready; 1 waits for free devices; 1 is being prepared: …`. */
export function progressWords(count: number, { booked, ready, problem }: StockProgress): string {
  const missing = Math.max(0, count - booked);
  const preparing = Math.max(0, booked - ready);
  return [
    `${ready} of ${count} are ready`,
    ...(missing > 0 ? [`${missing} ${missing === 1 ? 'waits' : 'wait'} for free devices`] : []),
    ...(preparing > 0
      ? [`${preparing} ${preparing === 1 ? 'is' : 'are'} being prepared${problem === undefined ? '' : `: ${problem}`}`]
      : []),
  ].join('; ');
}
