import type { RoomState, UnitDriver } from '../drivers/driver.ts';
import { lastLines } from '../logs/last-lines.ts';
import type { UnitRecord } from '../records/record.ts';
import type { Ending } from '../records/state.ts';

type Run = Pick<UnitRecord, 'name' | 'incarnation'>;

/** How the program ended, as far as the driver can say, with its last lines. */
export async function outcomeOf(driver: UnitDriver, run: Run, found: RoomState | undefined): Promise<Omit<Ending, 'reason'>> {
  const lines = await lastLinesOf(driver, run);
  if (found?.phase !== 'exited') return lines;
  const { startedAt, finishedAt, code } = found;
  return { startedAt, finishedAt, exitCode: code, ...lines };
}

export async function lastLinesOf(driver: UnitDriver, { name, incarnation }: Run): Promise<Pick<Ending, 'lastLines'>> {
  const lines = await lastLines(driver, name, incarnation);
  return lines.length === 0 ? {} : { lastLines: lines };
}
