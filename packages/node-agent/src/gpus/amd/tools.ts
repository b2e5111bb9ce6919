import { join } from 'node:path';
import type { GpuReading, GpuReport } from '@capstan/api';
import { findProgram, namesIn, searchPath, textIn } from '../discovery/files.ts';
import type { GpuTools, ToolOptions } from '../discovery/tools.ts';
import { GpuError } from '../errors.ts';
import { parseAmdReadings, parseAmdReport, uuidsByNumber } from './amd-smi.ts';
import { parseRocmReport, rocmOptions } from './rocm-smi.ts';

/** AMD's cards through amd-smi, or through rocm-smi where that is all there is. */
export class AmdTools implements GpuTools {
  readonly source = 'amd';
  readonly #options: ToolOptions;
  readonly #root: string;
  #program: { readonly name: 'amd-smi' | 'rocm-smi'; readonly path: string } | undefined;
  #uuids: ReadonlyMap<number, string> = new Map();

  constructor(options: ToolOptions) {
    this.#options = options;
    this.#root = options.root ?? '/';
  }

  async isPresent(): Promise<boolean> {
    const folders = this.#options.folders ?? searchPath('/opt/rocm/bin');
    this.#program = undefined;
    for (const name of ['amd-smi', 'rocm-smi'] as const) {
      const path = await findProgram(name, folders);
      if (path !== undefined) this.#program ??= { name, path };
    }
    return this.#program !== undefined;
  }

  async fingerprint(): Promise<string> {
    return [
      await textIn(join(this.#root, 'sys/module/amdgpu/version')),
      ...(await namesIn(join(this.#root, 'sys/module/amdgpu/drivers/pci:amdgpu'))),
    ].join('\n');
  }

  async report(): Promise<GpuReport> {
    const renderNodes = await this.#renderNodes();
    if (this.#program?.name === 'rocm-smi') {
      return parseRocmReport({ output: await this.#run(...rocmOptions), renderNodes, observedAt: this.#options.now() });
    }
    const outputs = {
      list: await this.#run('list', '--json'),
      static: await this.#run('static', '--json'),
      metric: await this.#run('metric', '--json'),
      process: await this.#run('process', '--json'),
      topology: await this.#run('topology', '--json'),
      version: await this.#run('version', '--json'),
    };
    const report = parseAmdReport({ ...outputs, renderNodes, observedAt: this.#options.now() });
    this.#uuids = uuidsByNumber(outputs);
    return report;
  }

  async sample(): Promise<readonly GpuReading[]> {
    if (this.#program?.name === 'rocm-smi') return (await this.report()).readings;
    return parseAmdReadings({
      metric: await this.#run('metric', '--json'),
      process: await this.#run('process', '--json'),
      uuids: this.#uuids,
    });
  }

  /** `/dev/dri/renderD128` by bus id, from sysfs. */
  async #renderNodes(): Promise<Map<string, string>> {
    const drivers = join(this.#root, 'sys/module/amdgpu/drivers/pci:amdgpu');
    const nodes = new Map<string, string>();
    for (const bus of await namesIn(drivers)) {
      const render = (await namesIn(join(drivers, bus, 'drm'))).find((name) => /^renderD\d+$/.test(name));
      if (render !== undefined) nodes.set(bus.toLowerCase(), `/dev/dri/${render}`);
    }
    return nodes;
  }

  async #run(...args: readonly string[]): Promise<string> {
    const { output, exitCode } = await this.#options.run(this.#program?.path ?? 'amd-smi', args);
    if (exitCode === null) throw new GpuError('ToolFailed', `${this.#program?.name ?? 'amd-smi'} ${args.join(' ')} was killed`);
    return output;
  }
}
