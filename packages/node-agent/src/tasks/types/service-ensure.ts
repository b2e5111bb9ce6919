import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ServiceSpec, Services } from '../../services/services.ts';
import { TaskFailure } from '../failure.ts';
import { type TaskType, taskType } from '../task-type.ts';

const execute = promisify(execFile);

export interface ServiceOptions {
  readonly services: Pick<Services, 'is' | 'ensure' | 'stop'>;
  /** Whether systemd is the first process of the machine. */
  readonly hasSystemd: boolean;
}

/** Services with a command belong to the agent. Others are units that the machine already has. */
export function serviceEnsure({ services, hasSystemd }: ServiceOptions): TaskType {
  const unit = async (...args: string[]): Promise<boolean> => {
    if (!hasSystemd) throw new TaskFailure('NotSupported', 'systemd does not run on this machine, so a service needs a command');
    return execute('systemctl', args).then(
      () => true,
      () => false,
    );
  };
  return taskType<'serviceEnsure'>({
    name: 'service.ensure',
    field: 'serviceEnsure',
    afterCrash: 'rerun',
    exclusive: 'services',
    async check({ name, state, command, environment }, { reveal }) {
      if (command !== undefined) return services.is(name, state === 'running' ? specOf(command, await reveal(environment)) : undefined);
      return (await unit('is-active', '--quiet', name)) === (state === 'running');
    },
    async run({ name, state, command, environment }, { step, reveal }) {
      step(state === 'running' ? `starting ${name}` : `stopping ${name}`);
      if (command === undefined) {
        if (!(await unit(state === 'running' ? 'start' : 'stop', name)))
          throw new TaskFailure(
            'CommandFailed',
            `systemctl could not ${state === 'running' ? 'start' : 'stop'} ${name}; collect.logs can read its journal`,
          );
      } else if (state === 'stopped') await services.stop(name);
      else
        await services.ensure(name, specOf(command, await reveal(environment))).catch((error: Error) => {
          throw new TaskFailure('CommandFailed', error.message, { cause: error });
        });
      return {};
    },
  });
}

function specOf(command: readonly string[], environment: Readonly<Record<string, string>> | undefined): ServiceSpec {
  const [program = '', ...args] = command;
  return { command: [program, ...args], ...(environment && { environment }) };
}
