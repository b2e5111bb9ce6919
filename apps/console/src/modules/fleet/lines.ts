import type { GpuMetricPoint, MeanAndMax, NodeGpuMetrics, NodeMetrics } from '@capstan/api';
import type { Reading } from './readings.ts';

/** The numbers of all GPUs at one time, in milliseconds since 1970. */
export interface Moment {
  readonly at: number;
  readonly readings: ReadonlyMap<string, Reading>;
}

/** The history of the GPUs of a node, with what was read since it was asked for. Leaves out what is older than the span, in milliseconds. */
export function continued({ at, gpus }: NodeMetrics, moments: readonly Moment[], span: number): readonly NodeGpuMetrics[] {
  const asked = Date.parse(at);
  const since = moments.filter((moment) => moment.at > asked);
  const begin = (since.at(-1)?.at ?? asked) - span;
  return gpus.map((gpu) => ({
    ...gpu,
    points: [
      ...(gpu.points ?? []).filter((point) => Date.parse(point.at) >= begin),
      ...since.flatMap(({ at: time, readings }) => {
        const reading = readings.get(gpu.uuid);
        return reading === undefined || time < begin ? [] : [pointOf(time, reading)];
      }),
    ],
  }));
}

function pointOf(at: number, { utilization, memoryUsed, temperature, power }: Reading): GpuMetricPoint {
  return {
    at: new Date(at).toISOString(),
    samples: 1,
    ...(utilization !== undefined && { utilizationPercent: once(utilization * 100) }),
    ...(memoryUsed !== undefined && { memoryUsedBytes: once(memoryUsed) }),
    ...(temperature !== undefined && { temperatureCelsius: once(temperature) }),
    ...(power !== undefined && { powerWatts: once(power) }),
  };
}

const once = (value: number): MeanAndMax => ({ mean: value, max: value });

/** One line for each GPU over the times that any of them has. */
export function linesOf(
  gpus: readonly NodeGpuMetrics[],
  pick: (point: GpuMetricPoint) => MeanAndMax | undefined,
): {
  readonly times: readonly number[];
  readonly series: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
} {
  const values = gpus.map(
    ({ points = [] }) =>
      new Map(
        points.flatMap((point) => {
          const number = pick(point);
          return number === undefined ? [] : [[Math.round(Date.parse(point.at) / 1000), number.mean] as const];
        }),
      ),
  );
  const times = [...new Set(values.flatMap((of) => [...of.keys()]))].sort((one, other) => one - other);
  return { times, series: values.map((of, index) => ({ label: `GPU ${index}`, values: times.map((time) => of.get(time) ?? null) })) };
}
