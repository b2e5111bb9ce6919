import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TaskParameters } from '@capstan/api';
import type { ServiceSpec, Services } from '../../services/services.ts';
import { TaskFailure } from '../failure.ts';
import { type TaskContext, type TaskType, taskType } from '../task-type.ts';
import { type ScriptCatalog, scriptFile } from './process-run.ts';

const execute = promisify(execFile);

export interface ServiceOptions {
  readonly services: Pick<Services, 'is' | 'ensure' | 'stop'>;
  readonly scripts: ScriptCatalog;
  /** Whether systemd is the first process of the machine. */
  readonly hasSystemd: boolean;
}

type Parameters = TaskParameters<'serviceEnsure'>;

/** Services with a command or a script belong to the agent. Others are units that the machine already has. */
export function serviceEnsure({ services, scripts, hasSystemd }: ServiceOptions): TaskType {
  const unit = async (signal: AbortSignal, ...args: string[]): Promise<boolean> => {
    if (!hasSystemd)
      throw new TaskFailure('NotSupported', 'systemd does not run on this machine, so a service needs a command or a script');
    return execute('systemctl', args, { signal, killSignal: 'SIGKILL' }).then(
      () => true,
      () => false,
    );
  };
  const specOf = async (parameters: Parameters, { reveal }: TaskContext): Promise<ServiceSpec> => {
    const { command = [], script, sha256, arguments: more = [], environment, keepsProcesses } = parameters;
    const [program = '', ...args] = script === undefined ? command : [await scriptFile(scripts, script, sha256), ...more];
    return {
      command: [program, ...args],
      ...(environment && { environment: await reveal(environment) }),
      ...(keepsProcesses === true && { keepsProcesses }),
    };
  };
  return taskType<'serviceEnsure'>({
    name: 'service.ensure',
    field: 'serviceEnsure',
    afterCrash: 'rerun',
    exclusive: 'services',
    async check(parameters, context) {
      const { name, state } = parameters;
      if (!belongsToAgent(parameters)) return (await unit(context.signal, 'is-active', '--quiet', name)) === (state === 'running');
      return services.is(name, state === 'running' ? await specOf(parameters, context) : undefined);
    },
    async run(parameters, context) {
      const { name, state } = parameters;
      context.step(state === 'running' ? `starting ${name}` : `stopping ${name}`);
      if (!belongsToAgent(parameters)) {
        if (!(await unit(context.signal, state === 'running' ? 'start' : 'stop', name)))
          throw new TaskFailure(
            'CommandFailed',
            `systemctl could not ${state === 'running' ? 'start' : 'stop'} ${name}; collect.logs can read its journal`,
          );
      } else if (state === 'stopped') await services.stop(name);
      else
        await services.ensure(name, await specOf(parameters, context)).catch((error: Error) => {
          throw new TaskFailure('CommandFailed', error.message, { cause: error });
        });
      return {};
    },
  });
}

const belongsToAgent = ({ command, script }: Parameters): boolean => command !== undefined || script !== undefined;
