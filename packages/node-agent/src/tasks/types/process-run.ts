import { TaskFailure } from '../failure.ts';
import { runProcess } from '../processes.ts';
import type { TaskType } from '../task-type.ts';
import { taskType } from '../task-type.ts';

/** The scripts that tasks may run. */
export interface ScriptCatalog {
  /** The path of an executable file; undefined if there is no such script. Rejects if its content has another hash than the given one. */
  find(name: string, sha256?: string): Promise<string | undefined>;
}

/** NodeScripts, and nothing else. */
export function processRun(catalog: ScriptCatalog): TaskType {
  return taskType<'processRun'>({
    name: 'process.run',
    field: 'processRun',
    afterCrash: 'resume',
    check: async () => false,
    async run({ script, sha256, arguments: args = [], environment = {} }, context) {
      // A process that an agent before this one started needs no script.
      const isStarted = (await context.processes.find(context.id)) !== undefined;
      const file = isStarted ? script : await scriptFile(catalog, script, sha256);
      const started = isStarted
        ? { args, environment }
        : { args: await context.reveal(args), environment: await context.reveal(environment) };
      context.step(`running ${script}`);
      return runProcess(context, { command: [file, ...started.args], environment: started.environment, hasFindings: true });
    },
  });
}

export async function scriptFile(catalog: ScriptCatalog, name: string, sha256?: string): Promise<string> {
  const file = await catalog.find(name, sha256);
  if (file === undefined) throw new TaskFailure('UnknownScript', `there is no NodeScript ${name}`);
  return file;
}
