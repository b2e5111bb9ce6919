import { execFile } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { millisecondsIn } from '@capstan/api';
import { type TaskContext, type TaskResult, type TaskType, taskType } from '../task-type.ts';
import { type ScriptCatalog, scriptFile } from './process-run.ts';

interface Times {
  readonly timeout: string;
  readonly interval: string;
}

/** Probes until the look succeeds. Prints why it does not, whenever the reason changes. */
async function probing(
  { timeout, interval }: Times,
  context: TaskContext,
  look: (signal: AbortSignal) => Promise<void>,
): Promise<TaskResult> {
  let told = '';
  for (let attempts = 1; ; attempts++) {
    try {
      await look(AbortSignal.any([context.signal, AbortSignal.timeout(millisecondsIn(timeout))]));
      return {};
    } catch (error) {
      context.signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== told) context.print(`attempt ${attempts}: ${reason}\n`);
      told = reason;
    }
    await sleep(millisecondsIn(interval), undefined, { signal: context.signal });
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

export function probeCommand(catalog: ScriptCatalog): TaskType {
  return taskType<'probeCommand'>({
    name: 'probe.command',
    field: 'probeCommand',
    afterCrash: 'rerun',
    check: never,
    async run({ script, sha256, arguments: args = [], ...times }, context) {
      const file = await scriptFile(catalog, script, sha256);
      return probing(times, context, (signal) => succeed(file, args, signal));
    },
  });
}

const mostOutput = 64 << 10;

function succeed(file: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { signal, killSignal: 'SIGKILL', maxBuffer: mostOutput }, (error, stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(`exit code ${error.code ?? 'unknown'}: ${(stderr || stdout).trim().slice(0, 500)}`));
    });
  });
}
