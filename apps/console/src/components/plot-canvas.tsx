import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

export interface PlotProps {
  readonly title: string;
  readonly latest: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** The value as people read it. */
  readonly format: (value: number) => string;
  /** The top of the scale; by default the largest value. */
  readonly top?: number;
  /** One bar for each day in place of a line. */
  readonly bars?: boolean;
}

const height = 140;
/** In seconds: the least time that a plot shows. */
const shortest = 300;
/** In seconds: the time that a bar stands for. */
const day = 86_400;
const colours = ['#5b6bf0', '#1f9d73', '#d08a1d', '#c2479b', '#2f8fd0', '#8a6ad8', '#7f8a2f', '#c75a3a'];

export function PlotCanvas({ times, series, format, top, bars = false }: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const scheme = useComputedColorScheme('light');
  const labels = series.map(({ label }) => label).join('\n');
  const data = [times as number[], ...series.map(({ values }) => values as (number | null)[])] as UPlot.AlignedData;
  const shown = useRef({ data, format });
  shown.current = { data, format };

  // biome-ignore lint/correctness/useExhaustiveDependencies: data is replaced in place below; only another shape needs another plot.
  useEffect(() => {
    const element = host.current!;
    const style = getComputedStyle(document.documentElement);
    const axis = {
      stroke: style.getPropertyValue('--text-faint'),
      grid: { stroke: style.getPropertyValue('--line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui',
    };
    const made = new UPlot(
      {
        width: element.clientWidth,
        height,
        cursor: { y: false, points: { size: 6 } },
        legend: { show: false },
        scales: {
          // A few points at the beginning do not fill years.
          x: { range: (_plot, low, high) => (bars ? [low - day / 2, high + day / 2] : [Math.min(low, high - shortest), high]) },
          y: { range: (_plot, _low, high) => [0, top ?? Math.max(high * 1.1, 1e-9)] },
        },
        axes: [axis, { ...axis, size: 62, values: (_plot, splits) => splits.map((value) => shown.current.format(value)) }],
        series: [
          {},
          ...series.map(({ label }, index) => ({
            label,
            stroke: colours[index % colours.length]!,
            width: 1.6,
            points: { show: false },
            ...(bars && { paths: UPlot.paths.bars!({ size: [0.6, 40] }), fill: `${colours[index % colours.length]}55` }),
            ...(series.length === 1 && !bars && { fill: `${colours[0]}1f` }),
          })),
        ],
      },
      shown.current.data,
      element,
    );
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
    };
  }, [labels, scheme, top, bars]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the arrays are new whenever their contents are.
  useEffect(() => plot.current?.setData(data), [times, series]);
  return <div ref={host} style={{ height }} />;
}
