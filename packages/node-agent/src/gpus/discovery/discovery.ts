import { setTimeout as sleep } from 'node:timers/promises';
import type { GpuReading, GpuReport, GpuSource } from '@capstan/api';
import { Trouble } from '@capstan/machinery';
import { excerpt, GpuError } from '../errors.ts';
import type { XidEvent } from '../xid/kernel-log.ts';
import { describeXid } from '../xid/table.ts';
import type { GpuTools } from './tools.ts';

export interface DiscoveryListener {
  report(report: GpuReport): void;
  sample(source: GpuSource, at: number, readings: readonly GpuReading[]): void;
  /** The tools gave no usable answer. */
  silence(source: GpuSource, at: number, error: GpuError): void;
  xids(at: number, xids: readonly XidEvent[]): void;
}

export interface Intervals {
  /** Between samples, and between looks for changes, in milliseconds. */
  readonly sample: number;
  /** Between reports when nothing changes: the counters of errors are in them. */
  readonly report: number;
  /** Between looks for tools that are not installed. */
  readonly absent: number;
}

export const defaultIntervals: Intervals = { sample: 5_000, report: 60_000, absent: 60_000 };

export interface DiscoveryOptions {
  readonly tools: readonly GpuTools[];
  readonly listener: DiscoveryListener;
  readonly kernelMessages?: { read(): Promise<XidEvent[]> };
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly log: (line: string) => void;
  readonly intervals?: Partial<Intervals>;
}

/**
 * Asks each source for its cards at the start, when its fingerprint changes, when a sample does not fit the last report, after a grave Xid and at intervals, and for
 * samples in between. Sources do not wait for each other. Ends with the signal.
 */
export async function discoverGpus(options: DiscoveryOptions): Promise<void> {
  const followers = options.tools.map((tools) => new Follower(tools, options));
  await Promise.all([...followers.map((follower) => follower.run()), followKernel(options, followers)]);
}

class Follower {
  readonly #tools: GpuTools;
  readonly #options: DiscoveryOptions;
  readonly #intervals: Intervals;
  readonly #trouble: Trouble;
  #fingerprint: string | undefined;
  #reported: ReadonlySet<string> = new Set();
  #nextReport = Number.NEGATIVE_INFINITY;

  constructor(tools: GpuTools, options: DiscoveryOptions) {
    this.#tools = tools;
    this.#options = options;
    this.#intervals = { ...defaultIntervals, ...options.intervals };
    this.#trouble = new Trouble({
      log: options.log,
      begins: (why) => `the ${tools.source} GPUs cannot be read: ${why}`,
      lasts: (why, { duration }) => `the ${tools.source} GPUs have not been readable for ${duration}: ${why}`,
      ends: ({ duration }) => `the ${tools.source} GPUs can be read again after ${duration}`,
      now: options.now,
    });
  }

  /** Makes the next turn begin with a report. */
  hurry(): void {
    this.#nextReport = Number.NEGATIVE_INFINITY;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      const isPresent = await this.#tools.isPresent();
      if (isPresent) await this.#turn();
      await pause(isPresent ? this.#intervals.sample : this.#intervals.absent, signal);
    }
  }

  async #turn(): Promise<void> {
    const { listener, now, signal } = this.#options;
    try {
      const fingerprint = await this.#tools.fingerprint();
      if (fingerprint !== this.#fingerprint || now() >= this.#nextReport) await this.#report(fingerprint);
      await this.#sample();
      this.#trouble.clear(this.#tools.source);
    } catch (error) {
      // Stopped with the agent: nothing has been learned about the cards.
      if (signal.aborted) return;
      const known = error instanceof GpuError ? error : new GpuError('ToolFailed', excerpt(String(error)), { cause: error });
      this.hurry();
      this.#trouble.report(known.message, this.#tools.source);
      listener.silence(this.#tools.source, now(), known);
    }
  }

  async #report(fingerprint: string): Promise<void> {
    const report = await this.#tools.report();
    this.#fingerprint = fingerprint;
    this.#nextReport = this.#options.now() + this.#intervals.report;
    this.#reported = new Set(report.gpus.map(({ uuid }) => uuid));
    this.#options.listener.report(report);
  }

  /** A sample that fails or shows other cards is followed by a report at once: only a report can say that a card is gone. */
  async #sample(): Promise<void> {
    const readings = await this.#tools.sample().catch((error: unknown) => {
      if (this.#options.signal.aborted) throw error;
      return undefined;
    });
    const fits = readings?.length === this.#reported.size && readings.every(({ uuid }) => this.#reported.has(uuid));
    if (!fits) await this.#report(await this.#tools.fingerprint());
    if (readings !== undefined) this.#options.listener.sample(this.#tools.source, this.#options.now(), readings);
  }
}

async function followKernel(
  { kernelMessages, listener, signal, now, log, intervals }: DiscoveryOptions,
  followers: readonly Follower[],
): Promise<void> {
  const trouble = new Trouble({
    log,
    begins: (why) => `the kernel's messages cannot be read, so Xids are not seen: ${why}`,
    lasts: () => undefined,
    ends: () => "the kernel's messages can be read again",
    now,
  });
  while (kernelMessages !== undefined && !signal.aborted) {
    try {
      const xids = await kernelMessages.read();
      trouble.clear('kernel');
      if (xids.length > 0) listener.xids(now(), xids);
      if (xids.some(({ code }) => describeXid(code).class !== 'application')) for (const follower of followers) follower.hurry();
    } catch (error) {
      trouble.report(excerpt(String(error)), 'kernel');
    }
    await pause(intervals?.sample ?? defaultIntervals.sample, signal);
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
