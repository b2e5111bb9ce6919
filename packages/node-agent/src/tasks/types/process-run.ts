import { TaskFailure } from '../failure.ts';
import { runProcess } from '../processes.ts';
import type { TaskType } from '../task-type.ts';
import { taskType } from '../task-type.ts';

/** The scripts that tasks may run. */
export interface ScriptCatalog {
  /** The path of an executable file; undefined if there is no such script. */
  find(name: string): Promise<string | undefined>;
}

/** Scripts of the catalog, and nothing else. */
export function processRun(catalog: ScriptCatalog): TaskType {
  return taskType<'processRun'>({
    name: 'process.run',
    field: 'processRun',
    afterCrash: 'resume',
    check: async () => false,
    async run({ script, arguments: args = [], environment = {} }, context) {
      const file = await scriptFile(catalog, script);
      context.step(`running ${script}`);
      return runProcess(context, { command: [file, ...args], environment });
    },
  });
}

export async function scriptFile(catalog: ScriptCatalog, name: string): Promise<string> {
  const file = await catalog.find(name);
  if (file === undefined) throw new TaskFailure('UnknownScript', `the catalog of this agent has no script ${name}`);
  return file;
}
