import type { UnitDriver } from '../drivers/driver.ts';
import type { UnitRecord } from '../records/record.ts';

/**
 * The number of the next start. An agent that was killed while the record of a start was on its way to the disk has left something of it with the driver, and its program
 * never ran: that is ended, and its number is not used again.
 */
export async function unusedIncarnation(
  driver: UnitDriver,
  { name, incarnation }: Pick<UnitRecord, 'name' | 'incarnation'>,
): Promise<number> {
  let next = incarnation + 1;
  while ((await driver.find(name, next))?.phase === 'lost') {
    if (next === incarnation + 1) await driver.stop(name, 0);
    next++;
  }
  return next;
}
