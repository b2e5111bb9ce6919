import { readFile, stat } from 'node:fs/promises';
import type { GpuReading, GpuReport } from '@capstan/api';
import type { GpuTools } from '../discovery/tools.ts';
import { excerpt, GpuError } from '../errors.ts';
import { parseDeclaration } from './declared.ts';

export interface DeclaredOptions {
  readonly path: string;
  /** The name of the machine. */
  readonly machine: string;
  readonly now: () => number;
}

/** GPUs that a file declares. A file that is configured is expected to be there. */
export class DeclaredTools implements GpuTools {
  readonly source = 'declared';
  readonly #options: DeclaredOptions;

  constructor(options: DeclaredOptions) {
    this.#options = options;
  }

  isPresent(): Promise<boolean> {
    return Promise.resolve(true);
  }

  async fingerprint(): Promise<string> {
    const { mtimeMs, size, ino } = await stat(this.#options.path).catch((cause: unknown) => this.#missing(cause));
    return `${ino} ${size} ${mtimeMs}`;
  }

  async report(): Promise<GpuReport> {
    const { path, machine, now } = this.#options;
    const text = await readFile(path, 'utf8').catch((cause: unknown) => this.#missing(cause));
    return parseDeclaration({ text, machine, observedAt: now() });
  }

  async sample(): Promise<readonly GpuReading[]> {
    return (await this.report()).readings;
  }

  #missing(cause: unknown): never {
    throw new GpuError('ToolMissing', `the file of declared GPUs: ${excerpt(cause instanceof Error ? cause.message : String(cause))}`, {
      cause,
    });
  }
}
