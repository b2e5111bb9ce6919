import { setTimeout as sleep } from 'node:timers/promises';
import { type GpuReading, millisecondsIn, type UnitGpuUsage, type UnitUsage } from '@capstan/api';
import type { RoomUsage } from '../drivers/driver.ts';
import type { UnitEngine } from '../engine/engine.ts';
import type { UnitTimes } from '../engine/times.ts';
import type { UnitRun } from '../engine/unit-run.ts';

export interface UsageOptions {
  readonly engine: Pick<UnitEngine, 'runs' | 'driverOf'>;
  readonly readings: () => readonly GpuReading[];
  readonly times: UnitTimes;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Sample {
  readonly at: number;
  readonly usage: RoomUsage;
  readonly incarnation: number;
}

/** In thousandths of a core, and percent: a unit that uses less is idle. */
const idleCpu = 10;
const idleGpu = 1;

/** Looks at the use of resources by units from time to time, and tells units for how long they have been idle. */
export class UsageSampler {
  readonly #options: UsageOptions;
  readonly #samples = new Map<string, Sample>();
  readonly #usage = new Map<string, UnitUsage>();
  readonly #idleSince = new Map<string, number>();

  constructor(options: UsageOptions) {
    this.#options = options;
  }

  /** The latest of each unit that runs. */
  get usage(): UnitUsage[] {
    return [...this.#usage.values()];
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await sleep(this.#options.times.usageInterval, undefined, { signal }).catch(() => {});
    }
  }

  /** One look at all units. */
  async look(): Promise<void> {
    const readings = new Map(this.#options.readings().map((reading) => [reading.uuid, reading]));
    const running = [...this.#options.engine.runs].filter(({ live }) => live.room !== undefined);
    await Promise.all(running.map((run) => this.#lookAt(run, readings)));
    const names = new Set(running.map(({ record }) => record.name));
    for (const map of [this.#samples, this.#usage, this.#idleSince]) for (const name of map.keys()) if (!names.has(name)) map.delete(name);
  }

  async #lookAt(run: UnitRun, readings: ReadonlyMap<string, GpuReading>): Promise<void> {
    const { name, spec, incarnation } = run.record;
    const found = await this.#options.engine
      .driverOf(run.record)
      ?.usage(name)
      .catch(() => undefined);
    if (found === undefined) return;
    const at = (this.#options.now ?? Date.now)();
    const before = this.#samples.get(name);
    this.#samples.set(name, { at, usage: found, incarnation });
    if (before === undefined || before.incarnation !== incarnation || at <= before.at) return;
    const window = at - before.at;
    const cpuMillis = Math.max(0, Math.round(((found.cpuSeconds - before.usage.cpuSeconds) * 1_000_000) / window));
    const gpus = spec.devices.map((uuid) => gpuUsage(uuid, readings));
    this.#usage.set(name, { name, owner: spec.owner, at, window, cpuMillis, memoryBytes: found.memoryBytes, gpus });
    this.#mark(run, isIdle(cpuMillis, gpus), at);
  }

  #mark(run: UnitRun, idle: boolean, at: number): void {
    const { name, spec } = run.record;
    if (!idle) this.#idleSince.delete(name);
    const since = idle ? (this.#idleSince.get(name) ?? at) : undefined;
    if (since !== undefined) this.#idleSince.set(name, since);
    const { idleAfter } = this.#options.times;
    const enough = spec.idleTimeout === undefined ? idleAfter : Math.min(idleAfter, millisecondsIn(spec.idleTimeout));
    const isLong = since !== undefined && at - since >= enough;
    run.setIdle(isLong ? new Date(since).toISOString() : undefined);
  }
}

function gpuUsage(uuid: string, readings: ReadonlyMap<string, GpuReading>): UnitGpuUsage {
  const card = readings.get(uuid);
  if (card !== undefined) return fieldsOf(uuid, card.utilizationPercent, card.memoryUsedBytes);
  // Drivers count the use of an instance of a divided card by its processes only.
  const processes = [...readings.values()].flatMap((reading) => reading.processes.filter(({ migDevice }) => migDevice === uuid));
  const [utilization, memory] = [sum(processes.map((one) => one.utilizationPercent)), sum(processes.map((one) => one.memoryBytes))];
  return fieldsOf(uuid, utilization, memory);
}

function fieldsOf(uuid: string, utilizationPercent: number | undefined, memoryUsedBytes: number | undefined): UnitGpuUsage {
  return {
    uuid,
    ...(utilizationPercent !== undefined && { utilizationPercent }),
    ...(memoryUsedBytes !== undefined && { memoryUsedBytes }),
  };
}

/** Undefined if nothing is known. */
function sum(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, one) => total + one, 0);
}

/** By its GPUs as far as they say how busy they are, and by its processor otherwise. */
function isIdle(cpuMillis: number, gpus: readonly UnitGpuUsage[]): boolean {
  const known = gpus.flatMap(({ utilizationPercent }) => utilizationPercent ?? []);
  return known.length > 0 ? known.every((percent) => percent < idleGpu) : cpuMillis < idleCpu;
}
