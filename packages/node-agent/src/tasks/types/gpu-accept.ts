import type { GpuStatus } from '@capstan/api';
import { TaskFailure } from '../failure.ts';
import { type TaskType, taskType } from '../task-type.ts';
import type { GpuInspector } from './gpu-inspect.ts';

/** The GPUs of this machine, as its owner may correct them. */
export interface GpuBook extends GpuInspector {
  status(): readonly GpuStatus[];
  isPresent(uuid: string): boolean;
  forget(uuid: string): Promise<void>;
  clear(uuid: string): Promise<void>;
}

/** Does what the owner of the platform says about GPUs. Nothing is changed if one of them cannot be as the owner says. */
export function gpuAccept(gpus: GpuBook): TaskType {
  return taskType<'gpuAccept'>({
    name: 'gpu.accept',
    field: 'gpuAccept',
    afterCrash: 'rerun',
    check: async () => false,
    async run({ forget = [], clear = [] }, context) {
      context.step('looking at the GPUs');
      // Without an answer from the tools, the last one counts.
      await gpus.inspect().catch((error: Error) => context.print(`the tools give no answer: ${error.message}\n`));
      const known = new Map(gpus.status().map((one) => [one.uuid, one]));
      const present = forget.find((uuid) => gpus.isPresent(uuid));
      if (present !== undefined)
        throw refusal(`${present} is in the machine (${known.get(present)!.health.state}); only a GPU that is gone can be forgotten`);
      const unknown = clear.find((uuid) => !known.has(uuid));
      if (unknown !== undefined) throw refusal(`this node has no GPU ${unknown}`);
      const report = [];
      for (const uuid of forget) {
        await gpus.forget(uuid);
        report.push({ name: uuid, message: known.has(uuid) ? 'forgotten' : 'was not known' });
      }
      for (const uuid of clear) {
        await gpus.clear(uuid);
        report.push({ name: uuid, message: 'cleared: errors until now do not count any more' });
      }
      context.print(report.map(({ name, message }) => `${name}  ${message}\n`).join(''));
      return { report };
    },
  });
}

const refusal = (message: string): TaskFailure => new TaskFailure('InvalidParameters', message);
