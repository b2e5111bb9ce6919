import type { GpuHealthState } from './gpus.ts';
import type { UnitOwner } from './node-unit.ts';

/** The path of the Prometheus metrics of all nodes, their GPUs and their units, in the root workspace. */
export const nodeMetricsPath = '/capstan/metrics/nodes';

/** Response of `gpunodes/metrics`. */
export interface NodeMetrics {
  readonly node: string;
  /** Time of the response, in RFC 3339 format. */
  readonly at: string;
  readonly gpus: readonly NodeGpuMetrics[];
}

export interface NodeGpuMetrics {
  readonly uuid: string;
  /** Empty for a GPU that is missing and was never described. */
  readonly model: string;
  readonly health: GpuHealthState;
  readonly memoryBytes?: number;
  /** The latest sample; absent if the GPU does not answer. */
  readonly latest?: GpuNumbers;
  /** One point for each step that has samples; absent if the request names no range. */
  readonly points?: readonly GpuMetricPoint[];
}

/** A field that the card does not report is absent. */
export interface GpuNumbers {
  readonly utilizationPercent?: number;
  readonly memoryUsedBytes?: number;
  readonly temperatureCelsius?: number;
  readonly powerWatts?: number;
}

/** The numbers of a GPU over one step. */
export interface GpuMetricPoint {
  /** The start of the step, in RFC 3339 format. */
  readonly at: string;
  readonly samples: number;
  readonly utilizationPercent?: MeanAndMax;
  readonly memoryUsedBytes?: MeanAndMax;
  readonly temperatureCelsius?: MeanAndMax;
  readonly powerWatts?: MeanAndMax;
}

export interface MeanAndMax {
  readonly mean: number;
  readonly max: number;
}

/** The use of resources by one unit, as `GET /node/units/usage` returns it. */
export interface UnitUsage {
  /** Name of the NodeUnit. */
  readonly name: string;
  readonly owner: UnitOwner;
  /** End and length of the window of `cpuMillis`, in milliseconds. */
  readonly at: number;
  readonly window: number;
  /** Thousandths of a core, on average. */
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly gpus: readonly UnitGpuUsage[];
}

export interface UnitGpuUsage {
  readonly uuid: string;
  readonly utilizationPercent?: number;
  readonly memoryUsedBytes?: number;
}
