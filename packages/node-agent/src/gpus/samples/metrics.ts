import { type GpuReading, type GpuStatus, gpuHealthStates } from '@capstan/api';
import type { LabelledNumbers, Metrics } from '@capstan/machinery';

export interface MetricsSource {
  /** The latest reading of each card. */
  readonly readings: () => Iterable<GpuReading>;
  readonly status: () => readonly GpuStatus[];
}

const gauges: readonly (readonly [name: string, help: string, read: (reading: GpuReading) => number | undefined])[] = [
  [
    'capstan_gpu_utilization_ratio',
    'Share of the time in which the GPU computed.',
    ({ utilizationPercent }) => scaled(utilizationPercent, 0.01),
  ],
  ['capstan_gpu_memory_used_bytes', 'Memory of the GPU that is in use.', ({ memoryUsedBytes }) => memoryUsedBytes],
  ['capstan_gpu_temperature_celsius', 'Temperature of the GPU.', ({ temperatureCelsius }) => temperatureCelsius],
  ['capstan_gpu_power_watts', 'Power that the GPU draws.', ({ powerWatts }) => powerWatts],
  ['capstan_gpu_sm_clock_hertz', 'Clock of the multiprocessors.', ({ smClockMegahertz }) => scaled(smClockMegahertz, 1_000_000)],
  ['capstan_gpu_processes', 'Processes that compute on the GPU.', ({ processes }) => processes.length],
];

/** Prometheus metrics for each card. Cards that are missing have their health, and no readings. */
export function registerGpuMetrics(metrics: Metrics, { readings, status }: MetricsSource): void {
  for (const [name, help, read] of gauges) {
    metrics.gauge(name, help, { read: () => byUuid([...readings()].map((reading) => [reading.uuid, read(reading)])) });
  }
  metrics.gauge('capstan_gpu_memory_total_bytes', 'Memory of the GPU.', {
    read: () => byUuid(status().map(({ uuid, gpu }) => [uuid, gpu?.memoryBytes])),
  });
  for (const state of gpuHealthStates) {
    metrics.gauge('capstan_gpu_health', 'Whether the health of the GPU is the state in the label.', {
      labels: { state },
      read: () => byUuid(status().map(({ uuid, health }) => [uuid, health.state === state ? 1 : 0])),
    });
  }
  for (const kind of ['correctable', 'uncorrectable'] as const) {
    metrics.gauge('capstan_gpu_ecc_errors_total', 'Memory errors since the driver was loaded.', {
      labels: { kind },
      type: 'counter',
      read: () => byUuid(status().map(({ uuid, gpu }) => [uuid, gpu?.ecc.volatile?.[kind]])),
    });
  }
}

function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : Number((value * factor).toPrecision(12));
}

function byUuid(values: readonly (readonly [string, number | undefined])[]): LabelledNumbers {
  return { label: 'uuid', numbers: new Map(values.filter((pair): pair is [string, number] => pair[1] !== undefined)) };
}
