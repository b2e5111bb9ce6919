import { existsSync } from 'node:fs';
import type { OutputSource } from '../logs/sender.ts';
import { keyOf } from './engine.ts';
import type { Journal } from './journal.ts';
import type { TaskOutput } from './output.ts';
import type { TaskRequest } from './task-type.ts';

export interface SentOutputOptions {
  readonly journal: Pick<Journal, 'records'>;
  readonly outputs: TaskOutput;
}

/** The output of all attempts that the journal has, for the log store. */
export function* sentOutput(options: SentOutputOptions): Generator<OutputSource> {
  for (const { request } of options.journal.records.values()) yield outputOf(request, options);
}

/** The output of one attempt. */
export function outputOf(request: TaskRequest, { journal, outputs }: SentOutputOptions): OutputSource {
  const { name, uid, attempt } = request;
  const key = keyOf(request);
  return {
    path: `tasks/${name}/${uid}/${attempt}`,
    progress: outputs.sentFile(key),
    run: attempt,
    open: async () => {
      // In this order: the last lines are written before the attempt has ended.
      const complete = journal.records.get(key)?.outcome !== undefined;
      return { complete, files: existsSync(outputs.file(key)) ? [outputs.file(key)] : [] };
    },
    ending: async () => outputs.truncationMark(key),
  };
}
