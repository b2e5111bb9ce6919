import { delimiter, dirname, resolve } from 'node:path';
import { humanDuration } from '@capstan/machinery';
import { columns } from '../columns.ts';
import { readWholeConfig } from '../config/capstan.ts';
import { exitCodes, Failure } from '../failure.ts';
import type { Port } from '../supervise/description.ts';
import { healthOf, memoryOf } from '../supervise/health.ts';
import type { ProcessState } from '../supervise/states.ts';
import { readStatus, type UpStatus } from '../supervise/status-file.ts';
import { defaultDataDirectory } from './options.ts';

export interface StatusFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly output?: 'json';
}

/** A process as `capstan status` shows it. */
export interface ProcessReport {
  readonly name: string;
  readonly optional: boolean;
  readonly phase: ProcessState['current']['phase'];
  /** `ok`, or why it is not healthy; empty if it is not running or offers no check. */
  readonly health: string;
  readonly restarts: number;
  readonly pid?: number;
  readonly memoryBytes?: number;
  readonly startedAt?: string;
  readonly ports: readonly Port[];
  readonly waitsFor?: readonly string[];
  readonly restartsAt?: string;
  readonly lastError?: ProcessState['lastError'];
}

/** Shows the processes of the `capstan up` that runs on a data directory. Resolves with the exit code. */
export async function status(flags: StatusFlags): Promise<number> {
  const file = flags.config === undefined ? {} : readWholeConfig(flags.config);
  const directory = resolve(flags.dataDir ?? file.dataDirectory ?? usualDirectory());
  const found = readStatus(directory);
  if (found === undefined) {
    throw new Failure(
      'notRunning',
      `no "capstan up" runs on ${directory}. Start it with "capstan up --data-dir ${directory}", or name the directory of a running one with --data-dir.`,
    );
  }
  const reports = await Promise.all(found.processes.map(reportOn));
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  if (flags.output === 'json') write(JSON.stringify({ dataDirectory: directory, up: found.up, processes: reports }, undefined, 2));
  else for (const line of tableOf(directory, found.up, reports)) write(line);
  return reports.length > 0 && reports.every(isFine) ? 0 : exitCodes.unhealthy;
}

/** In another folder than that of `capstan up`, the kubeconfig leads to its data. */
function usualDirectory(): string {
  const [kubeconfig = ''] = (process.env['KUBECONFIG'] ?? '').split(delimiter);
  if (kubeconfig === '' || readStatus(resolve(defaultDataDirectory)) !== undefined) return defaultDataDirectory;
  const beside = dirname(resolve(kubeconfig));
  return readStatus(beside) === undefined ? defaultDataDirectory : beside;
}

async function reportOn({ name, optional, current, restarts, lastError }: ProcessState): Promise<ProcessReport> {
  const common = { name, optional, phase: current.phase, restarts, ...(lastError && { lastError }) };
  switch (current.phase) {
    case 'waiting':
      return { ...common, health: '', ports: [], waitsFor: current.waitsFor };
    case 'restarting':
      return { ...common, health: '', ports: [], restartsAt: current.at };
    case 'stopped':
      return { ...common, health: '', ports: [] };
    default: {
      const { pid, startedAt } = current;
      const { ports, health } = current.phase === 'ready' ? current : { ports: [] };
      const memoryBytes = memoryOf(pid);
      return {
        ...common,
        health: health === undefined ? '' : await healthOf(health),
        pid,
        startedAt,
        ports,
        ...(memoryBytes !== undefined && { memoryBytes }),
      };
    }
  }
}

/** Optional processes may fail. */
function isFine({ optional, phase, health }: ProcessReport): boolean {
  return optional || (phase === 'ready' && (health === 'ok' || health === ''));
}

function tableOf(directory: string, up: UpStatus['up'], reports: readonly ProcessReport[]): string[] {
  const since = (time: string): string => humanDuration(Date.now() - Date.parse(time));
  const head = `capstan up (process ${up.pid}) has run on ${directory} for ${since(up.since)}.`;
  if (reports.length === 0) return [head, 'It has not started any process yet.'];
  const rows = reports.map(({ name, optional, phase, health, restarts, pid, memoryBytes, startedAt, ports, waitsFor }) => [
    optional ? `${name} (optional)` : name,
    waitsFor === undefined ? phase : `waiting for ${waitsFor.join(', ')}`,
    health,
    String(restarts),
    pid === undefined ? '' : String(pid),
    memoryBytes === undefined ? '' : `${Math.round(memoryBytes / 1024 / 1024)} MiB`,
    startedAt === undefined ? '' : since(startedAt),
    ports.map((port) => `${port.name} ${port.host}:${port.port}`).join(', '),
  ]);
  const errors = reports.flatMap(({ name, lastError }) =>
    lastError === undefined ? [] : [`${name} last failed ${since(lastError.time)} ago: ${lastError.message}`],
  );
  return [
    head,
    '',
    ...columns([['NAME', 'STATE', 'HEALTH', 'RESTARTS', 'PID', 'MEMORY', 'UPTIME', 'PORTS'], ...rows]),
    ...(errors.length === 0 ? [] : ['', ...errors]),
  ];
}
