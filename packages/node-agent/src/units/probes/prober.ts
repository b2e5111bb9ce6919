import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { millisecondsIn, type NodeUnitSpec, type UnitProbe } from '@capstan/api';
import type { UnitDriver } from '../drivers/driver.ts';
import { portOf } from './port.ts';

export interface ProbeResults {
  readonly ready: (isReady: boolean) => void;
  readonly unhealthy: (message: string) => void;
}

export interface Probed {
  readonly id: string;
  readonly spec: Pick<NodeUnitSpec, 'liveness' | 'readiness' | 'ports'>;
  readonly driver: Pick<UnitDriver, 'connect' | 'exec'>;
}

/** Probes a program until the signal aborts. */
export function probe(unit: Probed, results: ProbeResults, signal: AbortSignal): void {
  const { liveness, readiness } = unit.spec;
  if (readiness !== undefined)
    void repeat(unit, { probe: readiness, signal, passed: () => results.ready(true), failed: () => results.ready(false) });
  if (liveness === undefined) return;
  const failed = (why: string): void => results.unhealthy(`the liveness probe failed ${liveness.failures} times: ${why}`);
  void repeat(unit, { probe: liveness, signal, passed: () => {}, failed });
}

interface Repeated {
  readonly probe: UnitProbe;
  readonly signal: AbortSignal;
  readonly passed: () => void;
  /** Called once so many probes have failed in a row, and not again before one has passed. */
  readonly failed: (why: string) => void;
}

async function repeat(unit: Probed, { probe: wanted, signal, passed, failed }: Repeated): Promise<void> {
  let failures = 0;
  await pause(millisecondsIn(wanted.initialDelay), signal);
  while (!signal.aborted) {
    const why = await once(unit, wanted, signal);
    if (signal.aborted) return;
    failures = why === undefined ? 0 : failures + 1;
    if (why === undefined) passed();
    else if (failures === wanted.failures) failed(why);
    await pause(Math.max(millisecondsIn(wanted.period), shortestPeriod), signal);
  }
}

/** In milliseconds: a period of 0 must not keep the agent busy. */
const shortestPeriod = 10;

/** Undefined if the probe passed, or else why it failed. */
export async function once(unit: Probed, wanted: UnitProbe, signal: AbortSignal): Promise<string | undefined> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, millisecondsIn(wanted.timeout)))]);
  const late = new Promise<string>((resolve) => {
    limit.addEventListener('abort', () => resolve(`no answer within ${wanted.timeout}`), { once: true });
  });
  return Promise.race([
    attempt(unit, wanted, limit).catch((error: unknown) => (error instanceof Error ? error.message : String(error))),
    late,
  ]);
}

async function attempt(unit: Probed, { http, tcp, command }: UnitProbe, signal: AbortSignal): Promise<string | undefined> {
  if (command !== undefined) return runCommand(unit, command, signal);
  const port = portOf(unit.spec, (http ?? tcp)!.port);
  if (port === undefined) return `the unit has no port ${(http ?? tcp)!.port}`;
  const connection = await unit.driver.connect(unit.id, port);
  connection.on('error', () => {});
  const end = (): void => void connection.destroy();
  signal.addEventListener('abort', end, { once: true });
  try {
    if (signal.aborted || http === undefined) return undefined;
    const code = await statusOf(connection, http.path);
    return code >= 200 && code < 400 ? undefined : `the answer was ${code}`;
  } finally {
    end();
    signal.removeEventListener('abort', end);
  }
}

function statusOf(connection: Duplex, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      path,
      headers: { host: 'localhost', 'user-agent': 'capstan-probe', connection: 'close' },
      createConnection: () => connection,
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      response.on('error', () => {});
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.end();
  });
}

async function runCommand({ id, driver }: Probed, command: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  const streams = await driver.exec(id, { command, stdin: false, tty: false });
  const end = (): void => streams.close();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  for (const stream of [streams.stdout, streams.stderr]) stream?.on('error', () => {}).resume();
  try {
    const code = await streams.exited;
    return code === 0 ? undefined : `the command ended with exit code ${code ?? 'unknown'}`;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

async function pause(time: number, signal: AbortSignal): Promise<void> {
  await sleep(time, undefined, { signal }).catch(() => {});
}
