import type { Draft } from '../../../adapter/stages.ts';
import { type Cluster, type SlurmNode, unhealthyGpus } from '../cluster.ts';
import { run, waitFor } from '../steps.ts';

/** Drains whose reasons begin like this are ours, and only ours are lifted. */
const ownReason = 'capstan:';
const gpuReason = `${ownReason} gpu`;

export const isOwnDrain = (reason: string): boolean => reason.startsWith(ownReason);
export const isGpuDrain = (reason: string): boolean => reason.startsWith(gpuReason);

const longestReason = 200;

/** Slurm separates fields of its output by spaces and brackets, and takes no quotation marks. */
const plain = (text: string): string =>
  text
    .replaceAll(/[^\w.,:;@/+-]+/g, ' ')
    .trim()
    .slice(0, longestReason);

/** Runs on the controller: the node itself may be out of order. */
export function drain({ controller }: Cluster, node: SlurmNode, reason: string): Draft {
  return run(controller, {
    script: 'node',
    verb: `drain-${node.member.name}`,
    title: `Drain ${node.name}: it takes no new jobs`,
    arguments: ['drain', node.name, plain(`${ownReason} ${reason}`)],
  });
}

/** Waits for the jobs of a node. */
export function drained({ controller, settings }: Cluster, node: SlurmNode): Draft {
  return waitFor(controller, {
    script: 'node',
    verb: `drained-${node.member.name}`,
    title: `Wait until the jobs on ${node.name} have ended`,
    arguments: ['drained', node.name],
    deadline: settings.drainTimeout,
    attempts: 1,
    code: 'DrainTimeout',
    onFailure: 'intervene',
    instructions: `Jobs still run on ${node.name}. Wait for them or cancel them with scancel, then begin the operation "resume".`,
  });
}

export function undrain({ controller }: Cluster, node: SlurmNode, others: 'others-fail' | 'force'): Draft {
  return run(controller, {
    script: 'node',
    verb: `undrain-${node.member.name}`,
    title: `Let ${node.name} take jobs again`,
    arguments: ['resume', node.name, others],
  });
}

/** In one step: their names are arguments of a script. */
const mostFollowed = 60;

/** A node with a GPU that is out of order takes no new jobs, until all are healthy again. Drains by others stay. */
export function followGpus({ controller, compute }: Cluster): Draft[] {
  const entries = compute.map(
    (node) =>
      `${node.name}=${plain(
        unhealthyGpus(node)
          .map(({ uuid }) => uuid)
          .join(' '),
      )}`,
  );
  const steps: Draft[] = [];
  for (let start = 0; start < entries.length; start += mostFollowed)
    steps.push(
      run(controller, {
        script: 'node',
        verb: start === 0 ? 'follow-gpus' : `follow-gpus-${start / mostFollowed + 1}`,
        title: 'Drain nodes with GPUs that are out of order, and resume those whose GPUs work again',
        arguments: ['follow-gpus', ...entries.slice(start, start + mostFollowed)],
      }),
    );
  return steps;
}
