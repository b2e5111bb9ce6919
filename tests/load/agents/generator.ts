import { join } from 'node:path';
import { type JoinOptions, runAgent } from '@capstan/node-agent';
import { PretendedPrograms } from './pretended-programs.ts';

/** Sent by the parent once: the agents to run. */
export interface Assignment {
  readonly directory: string;
  readonly declaredGpus: string;
  readonly joins: readonly { readonly node: string; readonly join: JoinOptions }[];
  /** Units run no processes. */
  readonly pretendsPrograms: boolean;
}

/** `at` is a time of `now` below. */
export type Report =
  | { readonly kind: 'connected' }
  | { readonly kind: 'running'; readonly task: string; readonly at: number }
  | { readonly kind: 'failed'; readonly message: string };

/** The same clock in all processes of a machine, in milliseconds. */
export const now = (): number => performance.timeOrigin + performance.now();

/** How many agents join at once. */
const atOnce = 25;
const hour = 3_600_000;
const runningLine = /^task (\S+), attempt .*: Running$/;

/**
 * A process full of agents. They are real ones, with journals, watches, tunnels and Leases; only their GPUs are not sampled, which costs a machine of its own
 * and no server.
 */
async function generate({ directory, declaredGpus, joins, pretendsPrograms }: Assignment): Promise<void> {
  const send = (report: Report): void => void process.send?.(report);
  const waiting = joins.values();
  const starting = Array.from({ length: atOnce }, async () => {
    for (const { node, join: joining } of waiting) {
      const connected = Promise.withResolvers<void>();
      runAgent({
        stateDirectory: join(directory, node),
        join: joining,
        declaredGpus,
        handlers: {},
        signal: new AbortController().signal,
        ...(pretendsPrograms && { units: { drivers: [new PretendedPrograms()] } }),
        gpuIntervals: { sample: hour, report: hour, absent: hour },
        log: (line) => {
          const at = now();
          const task = runningLine.exec(line)?.[1];
          if (task !== undefined) send({ kind: 'running', task, at });
          else if (line.endsWith('is open')) connected.resolve();
        },
      }).catch((error: Error) => send({ kind: 'failed', message: `${node}: ${error.message}` }));
      await connected.promise;
      send({ kind: 'connected' });
    }
  });
  await Promise.all(starting);
}

if (process.send !== undefined) process.once('message', (assignment: Assignment) => void generate(assignment));
