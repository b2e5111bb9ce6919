import { readFile } from 'node:fs/promises';
import { exitCode, outputComplete } from '../processes.ts';
import { type TaskContext, type TaskType, taskType } from '../task-type.ts';
import { probing } from './probes.ts';
import { type ScriptCatalog, scriptFile } from './process-run.ts';

/** Runs a script until it succeeds. Each run is a process of its own, and nothing that it started outlives it. */
export function probeCommand(catalog: ScriptCatalog): TaskType {
  return taskType<'probeCommand'>({
    name: 'probe.command',
    field: 'probeCommand',
    afterCrash: 'rerun',
    check: async () => false,
    async run({ script, sha256, arguments: args = [], ...times }, context) {
      await endRuns(context);
      const file = await scriptFile(catalog, script, sha256);
      return probing(times, context, (signal, attempt) =>
        succeed([file, ...args], { ...context, signal, id: `${prefixOf(context)}${attempt}` }),
      );
    },
  });
}

/** No key of a task: that process is the task itself. */
const prefixOf = ({ id }: TaskContext): string => `probe-${id}-`;

/** Ends the run that an agent before this one did not see the end of. */
async function endRuns(context: TaskContext): Promise<void> {
  const { processes } = context;
  for (const id of await processes.list()) if (id.startsWith(prefixOf(context))) await end({ id, processes });
}

async function end({ id, processes }: Pick<TaskContext, 'id' | 'processes'>): Promise<void> {
  await processes.kill(id, 0);
  await processes.forget(id);
}

/** In bytes, and in characters of a reason. */
const outputLimit = 64 << 10;
const longestExcerpt = 500;

async function succeed(command: readonly [program: string, ...args: string[]], run: TaskContext): Promise<void> {
  const { id, processes } = run;
  try {
    await processes.start({ id, command, outputLimit });
    const code = await exitCode(run);
    if (code === 0) return;
    await outputComplete(run);
    const { file } = await processes.output(id);
    throw new Error(`exit code ${code}: ${(await readFile(file, 'utf8')).trim().slice(0, longestExcerpt)}`);
  } finally {
    await end(run);
  }
}
