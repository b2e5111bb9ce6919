import type { GpuReading, GpuReport, GpuSource } from '@capstan/api';

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
