import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessDriver } from '../processes/driver.ts';
import { isTaskKey } from './engine.ts';
import type { Journal, JournalRecord } from './journal.ts';
import type { TaskOutput } from './output.ts';
import type { TaskRequest } from './task-type.ts';

export interface OldOutputOptions {
  readonly journal: Pick<Journal, 'records'>;
  /** Whether an attempt is in the journal, or about to be. */
  readonly knows: (key: string) => boolean;
  readonly outputs: TaskOutput;
  readonly processes: Pick<ProcessDriver, 'find' | 'output' | 'forget' | 'list'>;
  /** Sends the rest of the output to the control plane. Rejects if that does not work now: then the output stays. */
  readonly send: (request: TaskRequest) => Promise<void>;
  /** How long output is kept after the end of its attempt, in milliseconds. */
  readonly keep: number;
  readonly now: () => number;
  readonly log: (line: string) => void;
}

/** In milliseconds, between two looks. */
const interval = 3_600_000;

/** Deletes the output of tasks that ended long ago or are forgotten, now and then until the signal aborts. */
export async function keepRemoving(options: OldOutputOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await removeOldOutput(options).catch((error: unknown) =>
      options.log(`old output of tasks could not be deleted: ${error instanceof Error ? error.message : String(error)}`),
    );
    await sleep(interval, undefined, { signal }).catch(() => {});
  }
}

/** One look. The journal still has the attempts, so that none of them is run again. */
export async function removeOldOutput(options: OldOutputOptions): Promise<void> {
  const { journal, knows, outputs, processes } = options;
  for (const [key, record] of journal.records) if (isOld(record, options)) await expire(key, record, options);
  for (const key of await outputs.keys()) if (!knows(key)) await outputs.remove(key);
  for (const id of await processes.list())
    if (isTaskKey(id) && !knows(id) && (await processes.find(id))?.phase !== 'running') await processes.forget(id);
}

function isOld({ outcome }: JournalRecord, { keep, now }: OldOutputOptions): boolean {
  return outcome !== undefined && now() - Date.parse(outcome.finishedAt) > keep;
}

async function expire(key: string, { request }: JournalRecord, { outputs, processes, send }: OldOutputOptions): Promise<void> {
  const hasRecords = (await processes.find(key)) !== undefined;
  if (!hasRecords && !outputs.has(key)) return;
  // A program in the background may still write.
  if (hasRecords && !(await processes.output(key)).complete) return;
  try {
    await send(request);
  } catch {
    return;
  }
  await outputs.expire(key);
  if (hasRecords) await processes.forget(key);
}
