import type { GpuReading, GpuReport, GpuSource } from '@capstan/api';
import type { RunCommand } from './command.ts';

/** How the tools of a vendor are run. */
export interface ToolOptions {
  readonly run: RunCommand;
  readonly now: () => number;
  /** Where the tools are looked for. */
  readonly folders?: readonly string[];
  /** `/` except in tests. */
  readonly root?: string;
}

/** The contract of a source of GPUs. Every method may reject with a GpuError, and none hangs. */
export interface GpuTools {
  readonly source: GpuSource;
  /** Whether the machine has this source at all. Cheap; asked again and again, because drivers get installed. */
  isPresent(): Promise<boolean>;
  /** Changes when the cards may have changed. Cheap: it starts no process. */
  fingerprint(): Promise<string>;
  report(): Promise<GpuReport>;
  sample(): Promise<readonly GpuReading[]>;
}
