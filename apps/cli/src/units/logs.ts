import { ApiError } from '@capstan/client';
import { Failure } from '../failure.ts';
import { tellTrouble } from '../following.ts';
import { watchSilence } from './silence.ts';
import { hasBegun, isOver, lastLinesOf, progressOf, startOf } from './state.ts';
import { UnitLog } from './streams/log.ts';
import { findUnit, openUnits, type UnitFlags } from './units.ts';
import { unitUntil } from './watch.ts';

export interface LogFlags extends UnitFlags {
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly since?: string;
  readonly tail?: number;
  readonly timestamps?: boolean;
}

const complain = (text: string): void => void process.stderr.write(`${text}\n`);

/** Prints the output of a unit. */
export async function printLogs(name: string, { follow, previous, since, tail, timestamps, ...flags }: LogFlags): Promise<void> {
  const from = since === undefined ? undefined : new Date(Date.now() - millisecondsIn(since));
  using units = openUnits(flags);
  let unit = await findUnit(units, name);
  const isFollowed = follow === true && previous !== true;
  if (isFollowed && unit.status?.startedAt === undefined && !isOver(unit)) {
    complain(`${progressOf(unit)}.`);
    unit =
      (await unitUntil(units, { name, onTrouble: tellTrouble }, (seen) => seen.status?.startedAt !== undefined || isOver(seen))) ?? unit;
  }
  const log = new UnitLog({ units, name }, { follow, previous, since: from, tail, timestamps, onTrouble: tellTrouble });
  using _silence = isFollowed ? watchSilence(units, name, complain) : undefined;
  try {
    await log.read();
    while (isFollowed) {
      const start = startOf(unit);
      const next = await unitUntil(
        units,
        { name, onTrouble: tellTrouble },
        (seen) => isOver(seen) || (hasBegun(seen) && startOf(seen) !== start),
      );
      if (next === undefined) return;
      if (isOver(next)) return await log.finish().catch(() => {});
      unit = next;
      await log.read();
    }
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 404].includes(error.code)) throw error;
    const lines = previous === true ? [] : lastLinesOf(unit);
    if (lines.length === 0) throw new Failure('unexpected', `there is no output of ${name}: ${error.message}.`, error);
    complain('The log is no longer on its node. These were its last lines:');
    for (const line of lines) process.stdout.write(`${line}\n`);
  }
}

const factors: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `1h30m` or `2d`. */
export function millisecondsIn(text: string): number {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text))
    throw new Failure('usage', `--since: expected a time such as 90s, 10m or 1h30m, found ${JSON.stringify(text)}.`);
  return [...text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)].reduce((sum, [, number, unit]) => sum + Number(number) * factors[unit!]!, 0);
}
