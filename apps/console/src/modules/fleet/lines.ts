import type { GpuMetricPoint, MeanAndMax, NodeGpuMetrics } from '@capstan/api';

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
