import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import type { GpuInventory, GpuReading, GpuReport, GpuSource, GpuStatus } from '@capstan/api';
import { isObject, type Metrics, sameJson } from '@capstan/machinery';
import { AmdTools } from './amd/tools.ts';
import { DeclaredTools } from './declared/tools.ts';
import { commandRunner, defaultCommandOptions } from './discovery/command.ts';
import { defaultIntervals, discoverGpus, type Intervals } from './discovery/discovery.ts';
import { textIn } from './discovery/files.ts';
import type { GpuTools } from './discovery/tools.ts';
import { excerpt, type GpuError } from './errors.ts';
import { type ExpectedGpu, emptyBook, type HealthBook, type HealthEvent, healthOf, type TrackerOptions, track } from './health/tracker.ts';
import { NvidiaTools } from './nvidia/tools.ts';
import { decodeHistory, encodeHistory } from './samples/file.ts';
import { GpuHistory, type GpuPoint, type ProcessSample, type Range } from './samples/history.ts';
import { registerGpuMetrics } from './samples/metrics.ts';
import type { XidEvent } from './xid/kernel-log.ts';
import { KernelMessages } from './xid/kernel-messages.ts';

export interface GpuMonitorOptions {
  /** The name of the machine; declared GPUs get their uuids from it. */
  readonly machine: string;
  /** A folder for the health and the samples, so that they survive a restart of the agent. */
  readonly stateFolder: string;
  /** A file that declares GPUs instead of looking for real ones. */
  readonly declaredPath?: string;
  readonly log: (line: string) => void;
  /** Called when an inventory or the health of a card has changed, not with every sample. */
  readonly onChange?: (inventories: readonly GpuInventory[], gpus: readonly GpuStatus[]) => void;
  readonly metrics?: Metrics;
  readonly now?: () => number;
  readonly intervals?: Partial<Intervals>;
  readonly health?: TrackerOptions;
  /** Between writes of the samples to the disk, in milliseconds. */
  readonly storeEvery?: number;
  /** Other sources than those that are found on the machine. */
  readonly tools?: readonly GpuTools[];
  readonly kernelMessages?: { read(): Promise<XidEvent[]> };
  /** An id that changes with every start of the machine. */
  readonly bootId?: string;
}

/** The GPUs of this machine: which there are, how they are, and what they did in the last day. */
export class GpuMonitor implements AsyncDisposable {
  readonly #options: GpuMonitorOptions;
  readonly #now: () => number;
  readonly #stop = new AbortController();
  readonly #reports = new Map<GpuSource, GpuReport>();
  readonly #readings = new Map<GpuSource, readonly GpuReading[]>();
  #book: HealthBook = emptyBook;
  #history = new GpuHistory();
  #shown: unknown;
  #storedAt: number;
  /** Writes follow each other, so that an older state never replaces a newer one. */
  #writing: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();
  readonly #tools: readonly GpuTools[];

  private constructor(options: GpuMonitorOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#storedAt = this.#now();
    this.#tools = options.tools ?? this.#ownTools();
  }

  /** Restores what is stored and starts to look. Does not wait for the first report. */
  static async start(options: GpuMonitorOptions): Promise<GpuMonitor> {
    const monitor = new GpuMonitor(options);
    await monitor.#restore();
    const { metrics } = options;
    if (metrics !== undefined) registerGpuMetrics(metrics, { readings: () => monitor.readings(), status: () => monitor.status() });
    monitor.#running = monitor.#run();
    return monitor;
  }

  /** All cards that were ever seen and not removed, with their health. */
  status(): GpuStatus[] {
    return healthOf(this.#book);
  }

  /** Asks all sources now, and returns the state of all cards. Rejects with a `GpuError` if a source gives no usable answer. */
  async inspect(): Promise<GpuStatus[]> {
    for (const tools of this.#tools) if (await tools.isPresent()) this.#reported(await tools.report());
    return this.status();
  }

  /** The last report of each source. */
  reports(): GpuReport[] {
    return [...this.#reports.values()];
  }

  /** The last report of each source, without what changes from second to second. */
  inventories(): GpuInventory[] {
    return this.reports().map(inventoryOf);
  }

  /** The latest reading of each card. */
  readings(): GpuReading[] {
    return [...this.#readings.values()].flat();
  }

  range(uuid: string, range: Range): GpuPoint[] {
    return this.#history.range(uuid, range);
  }

  processes(uuid: string, range: Pick<Range, 'from' | 'to'>): ProcessSample[] {
    return this.#history.processes(uuid, range);
  }

  /** The cards that the machine should have. Those that are not there are missing. */
  expect(gpus: readonly ExpectedGpu[]): void {
    this.#track({ type: 'expected', at: this.#now(), gpus });
  }

  /** Whether the last report of its tools shows the card, be it well or not. */
  isPresent(uuid: string): boolean {
    return this.#book.cards.some((card) => card.uuid === uuid && card.presence === 'present');
  }

  /** An owner declares a condemned card well: errors until now do not count any more. Resolves once that is stored. */
  async clear(uuid: string): Promise<void> {
    this.#track({ type: 'cleared', at: this.#now(), uuid });
    await this.#storeHealth();
  }

  /** An owner has taken a card out of the machine. Resolves once that is stored. */
  async forget(uuid: string): Promise<void> {
    this.#track({ type: 'removed', at: this.#now(), uuid });
    await this.#storeHealth();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#store();
    await this.#writing;
  }

  async #run(): Promise<void> {
    const { log, intervals } = this.#options;
    await using messages = new KernelMessages({ bootedAt: () => this.#now() - uptime() * 1_000, now: this.#now });
    await discoverGpus({
      tools: this.#tools,
      // Declared cards have no driver that could log anything.
      ...(this.#options.declaredPath === undefined && { kernelMessages: this.#options.kernelMessages ?? messages }),
      signal: this.#stop.signal,
      now: this.#now,
      log,
      intervals: { ...defaultIntervals, ...intervals },
      listener: {
        report: (report) => this.#reported(report),
        sample: (source, at, readings) => this.#sampled(source, at, readings),
        silence: (source, at, error) => this.#silent(source, at, error),
        xids: (at, xids) => this.#track({ type: 'xids', at, xids }),
      },
    });
  }

  #ownTools(): GpuTools[] {
    const { declaredPath, machine } = this.#options;
    if (declaredPath !== undefined) return [new DeclaredTools({ path: declaredPath, machine, now: this.#now })];
    const run = commandRunner({ ...defaultCommandOptions, signal: this.#stop.signal });
    return [new NvidiaTools({ run, now: this.#now }), new AmdTools({ run, now: this.#now })];
  }

  #reported(report: GpuReport): void {
    this.#reports.set(report.source, report);
    this.#readings.set(report.source, report.readings);
    this.#track({ type: 'report', report });
  }

  #sampled(source: GpuSource, at: number, readings: readonly GpuReading[]): void {
    this.#readings.set(source, readings);
    if (source !== 'declared') this.#history.add(at, readings);
    this.#track({ type: 'sample', at, readings });
    if (at - this.#storedAt >= (this.#options.storeEvery ?? 300_000)) this.#store();
  }

  #silent(source: GpuSource, at: number, { message, unreachable }: GpuError): void {
    this.#readings.delete(source);
    this.#track({ type: 'silence', at, source, unreachable, why: excerpt(message) });
  }

  #track(event: HealthEvent): void {
    this.#book = track(this.#book, event, this.#options.health);
    const inventories = this.inventories();
    const shown = { inventories, gpus: this.status() };
    if (sameJson(shown, this.#shown)) return;
    this.#shown = shown;
    void this.#storeHealth();
    this.#options.onChange?.(inventories, shown.gpus);
  }

  #store(): void {
    this.#storedAt = this.#now();
    void this.#storeHealth();
    this.#write('gpu-samples.bin', () => encodeHistory(this.#history));
  }

  async #storeHealth(): Promise<void> {
    this.#write('gpu-health.json', () => Buffer.from(JSON.stringify(this.#book)));
    await this.#writing;
  }

  /** Replaces a file in one step. A full disk costs the memory of a restart, not the agent. */
  #write(name: string, content: () => Buffer): void {
    const path = join(this.#options.stateFolder, name);
    this.#writing = this.#writing.then(async () => {
      try {
        await writeFile(`${path}.new`, content(), { mode: 0o600 });
        await rename(`${path}.new`, path);
      } catch (error) {
        this.#options.log(`the GPUs' state cannot be stored in ${path}: ${excerpt(String(error))}`);
      }
    });
  }

  async #restore(): Promise<void> {
    const { stateFolder, log } = this.#options;
    await mkdir(stateFolder, { recursive: true, mode: 0o700 });
    const restore = async (name: string, read: (bytes: Buffer) => void): Promise<void> => {
      try {
        read(await readFile(join(stateFolder, name)));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
          log(`${name} cannot be restored, so it starts empty: ${excerpt(String(error))}`);
      }
    };
    await restore('gpu-health.json', (bytes) => {
      const parsed: unknown = JSON.parse(bytes.toString('utf8'));
      if (!isObject(parsed) || !Array.isArray(parsed['cards']) || !Array.isArray(parsed['unclaimed']))
        throw new Error('it is no health of GPUs');
      this.#book = parsed as unknown as HealthBook;
    });
    await restore('gpu-samples.bin', (bytes) => {
      this.#history = decodeHistory(bytes);
    });
    const bootId = this.#options.bootId ?? (await textIn('/proc/sys/kernel/random/boot_id'));
    this.#book = track(this.#book, { type: 'boot', at: this.#now(), bootId }, this.#options.health);
  }
}

/** The report without what changes from second to second. */
function inventoryOf({ source, driverVersion, runtime, gpus, unreachable, linkGroups }: GpuReport): GpuInventory {
  return {
    source,
    ...(driverVersion !== undefined && { driverVersion }),
    ...(runtime !== undefined && { runtime }),
    gpus,
    unreachable,
    linkGroups,
  };
}
