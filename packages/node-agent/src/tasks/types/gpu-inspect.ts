import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { GpuStatus } from '@capstan/api';
import { runProcess } from '../processes.ts';
import { type TaskType, taskType } from '../task-type.ts';

const execute = promisify(execFile);
/** NVIDIA's short test, which disturbs no running work. */
const selfTest = ['dcgmi', 'diag', '--run', '1'] as const;

/** Looks at the GPUs of this machine now. */
export interface GpuInspector {
  inspect(): Promise<readonly GpuStatus[]>;
}

export function gpuInspect(gpus: GpuInspector): TaskType {
  return taskType<'gpuInspect'>({
    name: 'gpu.inspect',
    field: 'gpuInspect',
    afterCrash: 'resume',
    check: async () => false,
    async run({ deep }, context) {
      context.step('looking at the GPUs');
      const found = await gpus.inspect();
      const report = found.map((one) => ({ name: one.uuid, message: findingOf(one) }));
      if (!deep) {
        context.print(report.map(({ name, message }) => `${name}  ${message}\n`).join(''));
        return { report };
      }
      const isInstalled = await execute(selfTest[0], ['--version']).then(
        () => true,
        () => false,
      );
      if (!isInstalled) return { report: [...report, { name: 'self-test', message: `${selfTest[0]} is not installed on this node` }] };
      context.step(`running ${selfTest.join(' ')}`);
      return { ...(await runProcess(context, { command: selfTest })), report };
    },
  });
}

/** `H100: Healthy`, or with the reason if it is not. Messages begin with the GPU, whose line this is. */
export function findingOf({ uuid, gpu, health: { state, reason, message } }: Pick<GpuStatus, 'uuid' | 'gpu' | 'health'>): string {
  const text = message.startsWith(`${uuid}: `) ? message.slice(uuid.length + 2) : message;
  const why = state === 'Healthy' ? '' : ` (${reason}): ${text}`;
  return `${gpu?.model ?? 'unknown model'}: ${state}${why}`.slice(0, 1024);
}
