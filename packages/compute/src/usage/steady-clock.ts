import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { ClockOrigin, UsageState } from '@capstan/api';

/** Where a clock reads the time, in milliseconds. */
export interface TimeSources {
  /** Since 1970. People and time servers change it. */
  readonly wall: () => number;
  /** Since any moment. It only grows, and nobody changes it. */
  readonly monotonic: () => number;
  /** Id of the start of the machine, if `monotonic` counts from there. */
  readonly boot?: string | undefined;
}

const boot = bootId();

/** Of this machine. Only Linux says which start of the machine this is. */
export const systemTime: TimeSources = {
  wall: Date.now,
  monotonic: boot === undefined ? () => performance.now() : () => uptime() * 1_000,
  boot,
};

function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * A clock for lengths of time: it starts with the time of the machine and goes on by itself, so a change of the machine's clock neither adds nor takes time. `known` is
 * what was written before this process started: it never goes back behind that, and goes on with the time of an earlier process while the machine has not restarted.
 */
export class SteadyClock {
  readonly #sources: TimeSources;
  readonly #offset: number;

  constructor(sources: TimeSources, known: Pick<UsageState, 'clock' | 'origin'> = {}) {
    const { clock, origin } = known;
    const passed = sources.monotonic();
    const latest = clock === undefined ? 0 : Date.parse(clock);
    const goesOn = origin !== undefined && origin.boot === sources.boot && origin.startedAt + passed >= latest;
    this.#sources = sources;
    this.#offset = goesOn ? origin.startedAt : Math.ceil(Math.max(sources.wall(), latest) - passed);
  }

  readonly now = (): number => Math.floor(this.#sources.monotonic() + this.#offset);

  /** From which later processes on this machine go on. */
  get origin(): ClockOrigin | undefined {
    const id = this.#sources.boot;
    return id === undefined ? undefined : { boot: id, startedAt: this.#offset };
  }
}
