import { join } from 'node:path';
import type { ContainerLog } from '@capstan/streams';
import type { OutputSource } from '../../logs/sender.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { readKeptLog } from '../engine/removal.ts';
import type { UnitRecord } from '../records/record.ts';

/** Runs of a program whose output is sent: the present one, and the one before. */
const sentRuns = 2;

export type UnitOutputs = Pick<UnitEngine, 'runs' | 'removed' | 'driverOf'>;

/** The output of all units, for the log store. `folder` is that of a unit. */
export function* unitOutput(engine: UnitOutputs, folder: (name: string) => string): Generator<OutputSource> {
  const { removed } = engine;
  for (const record of [...[...engine.runs].map((one) => one.record), ...removed]) {
    const { name, incarnation, removedAt } = record;
    for (let run = Math.max(0, incarnation - sentRuns + 1); run <= incarnation; run++)
      yield {
        path: `${name}/${run}`,
        progress: join(folder(name), 'sent-logs.json'),
        run,
        isKept: removedAt !== undefined,
        open: () => logOf(record, run, { engine, folder }),
      };
  }
}

async function logOf(
  record: UnitRecord,
  run: number,
  { engine, folder }: { readonly engine: UnitOutputs; readonly folder: (name: string) => string },
): Promise<ContainerLog | undefined> {
  if (record.removedAt !== undefined) return readKeptLog(folder(record.name), run);
  const log = await engine.driverOf(record)?.log(record.name, run);
  return log && { ...log, complete: log.complete || run < record.incarnation };
}
