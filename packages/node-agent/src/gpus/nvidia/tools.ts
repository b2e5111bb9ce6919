import { join } from 'node:path';
import type { GpuReading, GpuReport } from '@capstan/api';
import { findProgram, namesIn, searchPath, textIn } from '../discovery/files.ts';
import type { GpuTools, ToolOptions } from '../discovery/tools.ts';
import { GpuError } from '../errors.ts';
import { failureOf, parseNvidiaReport } from './report.ts';
import { parseNvidiaSample, processFields, sampleFields } from './samples.ts';

/** NVIDIA's cards through nvidia-smi. */
export class NvidiaTools implements GpuTools {
  readonly source = 'nvidia';
  readonly #options: ToolOptions;
  readonly #root: string;
  #program: string | undefined;
  #fields: readonly string[] = sampleFields;
  /** The card of each MIG device in the last report. */
  #parents: ReadonlyMap<string, string> = new Map();

  constructor(options: ToolOptions) {
    this.#options = options;
    this.#root = options.root ?? '/';
  }

  async isPresent(): Promise<boolean> {
    this.#program = await findProgram('nvidia-smi', this.#options.folders ?? searchPath('/usr/bin', '/usr/local/nvidia/bin'));
    return this.#program !== undefined;
  }

  /** The version of the driver, its cards and their MIG devices, from /proc. */
  async fingerprint(): Promise<string> {
    const driver = join(this.#root, 'proc/driver/nvidia');
    const capabilities = join(driver, 'capabilities');
    const cards = (await namesIn(capabilities)).filter((name) => name.startsWith('gpu'));
    const migs = await Promise.all(cards.map(async (name) => [name, ...(await namesIn(join(capabilities, name, 'mig')))].join(' ')));
    return [await textIn(join(driver, 'version')), ...(await namesIn(join(driver, 'gpus'))), ...migs].join('\n');
  }

  async report(): Promise<GpuReport> {
    const report = await this.#wholeReport().catch((error: unknown) => emptyIfNone(error, this.#options.now()));
    this.#parents = new Map(report.gpus.flatMap(({ mig }) => mig.devices.map(({ uuid, parent }) => [uuid, parent])));
    return report;
  }

  async #wholeReport(): Promise<GpuReport> {
    const query = await this.#smi('-q', '-x');
    const list = query.includes('<mig_device>') ? await this.#smi('-L') : undefined;
    const observedAt = this.#options.now();
    const names = list === undefined ? {} : { list };
    try {
      // The matrix makes no sense for one card less, and fails then with its own message.
      const single = parseNvidiaReport({ query, ...names, observedAt });
      if (single.unreachable.length > 0) return single;
    } catch (error) {
      if (error instanceof GpuError && error.code === 'Unreachable') return await this.#reportCardByCard(error);
      throw error;
    }
    return parseNvidiaReport({ query, topology: await this.#smi('topo', '-m'), ...names, observedAt });
  }

  /** One lost card can make nvidia-smi fail for all, so the others are asked for one by one. */
  async #reportCardByCard(failure: GpuError): Promise<GpuReport> {
    const lost = new Set(failure.unreachable.map(({ pciBusId }) => pciBusId));
    const buses = (await namesIn(join(this.#root, 'proc/driver/nvidia/gpus'))).filter((bus) => !lost.has(bus.toLowerCase()));
    const reports: GpuReport[] = [];
    for (const bus of buses) {
      const query = (await this.#smi('-q', '-x', '-i', bus)).replace(/<attached_gpus>\d+</, '<attached_gpus>1<');
      const list = query.includes('<mig_device>') ? { list: await this.#smi('-L', '-i', bus) } : {};
      reports.push(parseNvidiaReport({ query, ...list, observedAt: this.#options.now() }));
    }
    const [first] = reports;
    if (first === undefined) throw failure;
    return {
      ...first,
      gpus: reports.flatMap(({ gpus }) => gpus),
      unreachable: [...failure.unreachable, ...reports.flatMap(({ unreachable }) => unreachable)],
      readings: reports.flatMap(({ readings }) => readings),
      linkGroups: [],
    };
  }

  async sample(): Promise<readonly GpuReading[]> {
    const query = await this.#quickQuery();
    if (failureOf(query).code === 'NoDevices') return [];
    const processes = await this.#smi(`--query-compute-apps=${processFields}`, '--format=csv,nounits');
    // The utilisation of processes is a nicety: cards without it, such as divided ones, must not lose the rest.
    const processUse = processes.trim().includes('\n') ? await this.#smi('pmon', '-c', '1', '-s', 'um').catch(() => '') : '';
    return parseNvidiaSample({ query, processes, processUse, parents: this.#parents });
  }

  /** Older drivers do not know every field. Those are left out from then on. */
  async #quickQuery(): Promise<string> {
    for (;;) {
      const output = await this.#smi(`--query-gpu=${this.#fields.join(',')}`, '--format=csv,nounits');
      const field = output.includes('is not a valid field') ? failureOf(output).field : undefined;
      if (field === undefined || field === 'uuid' || !this.#fields.includes(field)) return output;
      this.#fields = this.#fields.filter((one) => one !== field);
    }
  }

  async #smi(...args: readonly string[]): Promise<string> {
    const { output, exitCode } = await this.#options.run(this.#program ?? 'nvidia-smi', args);
    if (exitCode === null) throw new GpuError('ToolFailed', `nvidia-smi ${args.join(' ')} was killed`);
    return output;
  }
}

/** A driver that works and shows no card has said something: the cards that were there are missing. */
function emptyIfNone(error: unknown, observedAt: number): GpuReport {
  if (!(error instanceof GpuError && error.code === 'NoDevices')) throw error;
  return { source: 'nvidia', gpus: [], unreachable: [], linkGroups: [], observedAt, readings: [] };
}
