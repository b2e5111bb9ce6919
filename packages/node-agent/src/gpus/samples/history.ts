import type { GpuProcess, GpuReading } from '@capstan/api';
import { Ring } from './ring.ts';

/** The numbers of a GPU over a time, from the samples in it. */
export interface GpuPoint {
  /** The start of the interval. */
  readonly at: number;
  readonly samples: number;
  readonly utilizationPercent?: Aggregate;
  readonly memoryUsedBytes?: Aggregate;
  readonly temperatureCelsius?: Aggregate;
  readonly powerWatts?: Aggregate;
}

export interface Aggregate {
  readonly mean: number;
  readonly max: number;
}

export interface Range {
  /** Milliseconds since 1970; `to` is not part of the range. */
  readonly from: number;
  readonly to: number;
  /** In milliseconds. */
  readonly step: number;
}

export interface ProcessSample extends Pick<GpuProcess, 'pid' | 'memoryBytes' | 'utilizationPercent'> {
  readonly at: number;
}

export interface HistoryOptions {
  /** How long samples are kept, in milliseconds. */
  readonly keep: number;
  /** The time between samples. With `keep` it bounds the memory. */
  readonly interval: number;
  readonly maxGpus: number;
  /** How many processes a GPU has on average; more shorten the time for which they are kept. */
  readonly processesPerGpu: number;
}

export const defaultHistory: HistoryOptions = { keep: 24 * 3_600_000, interval: 5_000, maxGpus: 64, processesPerGpu: 4 };

/** Steps of one range. */
export const maxPoints = 11_000;
const readingColumns = 4;
const processColumns = 3;

export interface GpuRings {
  readonly readings: Ring;
  readonly processes: Ring;
}

/** The samples of the last day in memory, 24 bytes for each and 20 for each process in it: at most 14 MiB for eight GPUs. */
export class GpuHistory {
  readonly #options: HistoryOptions;
  readonly #gpus = new Map<string, GpuRings>();

  constructor(options: Partial<HistoryOptions> = {}) {
    this.#options = { ...defaultHistory, ...options };
  }

  /** The rings of each GPU, to be stored. */
  get gpus(): ReadonlyMap<string, GpuRings> {
    return this.#gpus;
  }

  add(at: number, readings: readonly GpuReading[]): void {
    for (const reading of readings) {
      const { readings: ring, processes } = this.ringsOf(reading.uuid);
      ring.push(at, [reading.utilizationPercent, mebibytes(reading.memoryUsedBytes), reading.temperatureCelsius, reading.powerWatts]);
      for (const { pid, memoryBytes, utilizationPercent } of reading.processes.slice(0, 256)) {
        processes.push(at, [pid, mebibytes(memoryBytes), utilizationPercent]);
      }
    }
  }

  /** A GPU's rings, made if there are none. The GPU that has been quiet for longest makes way if there are too many. */
  ringsOf(uuid: string): GpuRings {
    const known = this.#gpus.get(uuid);
    if (known !== undefined) return known;
    if (this.#gpus.size >= this.#options.maxGpus) {
      const [quiet] = [...this.#gpus].sort(([, one], [, other]) => one.readings.last - other.readings.last);
      this.#gpus.delete(quiet![0]);
    }
    const capacity = Math.ceil(this.#options.keep / this.#options.interval);
    const made = {
      readings: new Ring(capacity, readingColumns),
      processes: new Ring(capacity * this.#options.processesPerGpu, processColumns),
    };
    this.#gpus.set(uuid, made);
    return made;
  }

  /** One point for each step that has samples. */
  range(uuid: string, { from, to, step }: Range): GpuPoint[] {
    if (!(step > 0) || !(to > from) || (to - from) / step > maxPoints) {
      throw new RangeError(
        `expected from < to and at most ${maxPoints} steps, found from ${from} to ${to} in steps of ${step}; use longer steps`,
      );
    }
    const points = new Map<number, Sums>();
    this.#gpus.get(uuid)?.readings.between(from, to, (at, row) => {
      const start = from + Math.floor((at - from) / step) * step;
      let sums = points.get(start);
      if (sums === undefined) points.set(start, (sums = new Sums()));
      sums.add(row);
    });
    return [...points].map(([at, sums]) => sums.point(at));
  }

  /** Which processes used a GPU when, sample by sample and oldest first. */
  processes(uuid: string, { from, to }: Pick<Range, 'from' | 'to'>): ProcessSample[] {
    const samples: ProcessSample[] = [];
    this.#gpus.get(uuid)?.processes.between(from, to, (at, [pid, memory, use]) => {
      samples.push({
        at,
        pid: pid!,
        ...(!Number.isNaN(memory) && { memoryBytes: memory! * 1024 * 1024 }),
        ...(!Number.isNaN(use) && { utilizationPercent: use! }),
      });
    });
    return samples;
  }
}

function mebibytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / (1024 * 1024);
}

class Sums {
  #samples = 0;
  readonly #sums = [0, 0, 0, 0];
  readonly #counts = [0, 0, 0, 0];
  readonly #maxima = [0, 0, 0, 0];

  add(row: readonly number[]): void {
    this.#samples++;
    for (const [column, value] of row.entries()) {
      if (Number.isNaN(value)) continue;
      this.#maxima[column] = this.#counts[column] === 0 ? value : Math.max(this.#maxima[column]!, value);
      this.#sums[column]! += value;
      this.#counts[column]!++;
    }
  }

  point(at: number): GpuPoint {
    const one = (column: number, factor = 1): Aggregate | undefined =>
      this.#counts[column] === 0
        ? undefined
        : { mean: (this.#sums[column]! / this.#counts[column]!) * factor, max: this.#maxima[column]! * factor };
    const [utilizationPercent, memoryUsedBytes, temperatureCelsius, powerWatts] = [one(0), one(1, 1024 * 1024), one(2), one(3)];
    return {
      at,
      samples: this.#samples,
      ...(utilizationPercent && { utilizationPercent }),
      ...(memoryUsedBytes && { memoryUsedBytes }),
      ...(temperatureCelsius && { temperatureCelsius }),
      ...(powerWatts && { powerWatts }),
    };
  }
}
