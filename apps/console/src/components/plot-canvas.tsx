import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { clockWords, colourOf, dayWords } from './plot-words.ts';

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
  /** Bytes, whose round numbers are powers of two. */
  readonly isBinary?: boolean;
}

const height = 140;
/** In seconds: the least time that a plot shows. */
const shortest = 300;
const powersOfTwo = Array.from({ length: 50 }, (_, power) => 2 ** power);
/** In seconds: the time that a bar stands for. */
const day = 86_400;

interface PlotCanvasProps extends PlotProps {
  /** Called with the index of the time under the pointer, and with undefined when there is none. */
  readonly onPoint: (index: number | undefined) => void;
}

/** The words at the times of an axis. */
function timeWords(splits: readonly number[], bars: boolean): string[] {
  if (bars) return splits.map(dayWords);
  const [first = 0, second = first] = splits;
  return splits.map((time) => clockWords(time, second - first < 60));
}

export function PlotCanvas({ times, series, format, top, bars = false, isBinary = false, onPoint }: PlotCanvasProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const scheme = useComputedColorScheme('light');
  const labels = series.map(({ label }) => label).join('\n');
  const data = [times as number[], ...series.map(({ values }) => values as (number | null)[])] as UPlot.AlignedData;
  const shown = useRef({ data, format, onPoint });
  shown.current = { data, format, onPoint };

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
        ...(bars && { tzDate: (time: number) => UPlot.tzDate(new Date(time * 1000), 'Etc/UTC') }),
        hooks: { setCursor: [({ cursor }) => shown.current.onPoint(cursor.idx ?? undefined)] },
        scales: {
          // A few points at the beginning do not fill years.
          x: { range: (_plot, low, high) => (bars ? [low - day / 2, high + day / 2] : [Math.min(low, high - shortest), high]) },
          y: { range: (_plot, _low, high) => [0, top ?? (high > 0 ? high * 1.1 : 1)] },
        },
        axes: [
          { ...axis, size: 26, grid: { show: false }, values: (_plot, splits) => timeWords(splits, bars) },
          {
            ...axis,
            size: 62,
            ...(isBinary && { incrs: powersOfTwo }),
            values: (_plot, splits) => splits.map((value) => shown.current.format(value)),
          },
        ],
        series: [
          {},
          ...series.map(({ label }, index) => ({
            label,
            stroke: colourOf(index),
            width: 1.6,
            points: { show: false },
            ...(bars && { paths: UPlot.paths.bars!({ size: [0.6, 40] }), fill: colourOf(index), width: 0 }),
            ...(series.length === 1 && !bars && { fill: `${colourOf(0)}1f` }),
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
  }, [labels, scheme, top, bars, isBinary]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the arrays are new whenever their contents are.
  useEffect(() => plot.current?.setData(data), [times, series]);
  return <div ref={host} style={{ height }} />;
}
