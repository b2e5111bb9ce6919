import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { millisecondsIn } from '@capstan/api';
import { ProcessesRemain } from '../../processes/driver.ts';
import { type TaskContext, type TaskResult, taskType } from '../task-type.ts';

export interface ProbeTimes {
  readonly timeout: string;
  readonly interval: string;
}

/** Probes until the look succeeds. Prints why it does not, whenever the reason changes. */
export async function probing(
  { timeout, interval }: ProbeTimes,
  context: TaskContext,
  look: (signal: AbortSignal, attempt: number) => Promise<void>,
): Promise<TaskResult> {
  let told = '';
  for (let attempts = 1; ; attempts++) {
    const late = AbortSignal.timeout(millisecondsIn(timeout));
    try {
      await look(AbortSignal.any([context.signal, late]), attempts);
      return {};
    } catch (error) {
      // More of them would only pile up.
      if (error instanceof ProcessesRemain) throw error;
      context.signal.throwIfAborted();
      const reason = late.aborted ? `not done within ${timeout}` : error instanceof Error ? error.message : String(error);
      if (reason !== told) context.print(`attempt ${attempts}: ${reason}\n`);
      told = reason;
    }
    await sleep(millisecondsIn(interval), undefined, { signal: context.signal }).catch(() => context.signal.throwIfAborted());
  }
}

const never = async (): Promise<boolean> => false;

export const probeTcp = taskType<'probeTcp'>({
  name: 'probe.tcp',
  field: 'probeTcp',
  afterCrash: 'rerun',
  check: never,
  run: ({ host, port, ...times }, context) =>
    probing(times, context, async (signal) => {
      const socket = connect({ host, port, signal });
      try {
        await new Promise<void>((resolve, reject) => {
          socket.once('connect', resolve);
          socket.once('error', reject);
        });
      } finally {
        socket.destroy();
      }
    }),
});

export const probeHttp = taskType<'probeHttp'>({
  name: 'probe.http',
  field: 'probeHttp',
  afterCrash: 'rerun',
  check: never,
  run: ({ host, port, path, tls, status, ...times }, context) =>
    probing(times, context, async (signal) => {
      const found = await statusOf({ host, port, path, tls, signal });
      if (found !== status) throw new Error(`expected status ${status}, but found ${found}`);
    }),
});

interface Asked {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly tls: boolean;
  readonly signal: AbortSignal;
}

function statusOf({ tls, ...options }: Asked): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = tls ? httpsRequest({ ...options, rejectUnauthorized: false, agent: false }) : httpRequest({ ...options, agent: false });
    asked.once('error', reject);
    asked.once('response', (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    asked.end();
  });
}
