import type { UnitGpuUsage } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery/objects';
import { parseQuantity, scaledValue } from '@capstan/machinery/objects';
import { useEffect, useMemo, useState } from 'react';
import plots from '../../components/plot.module.css';
import { Plot } from '../../components/plot.tsx';
import { Empty } from '../../components/states.tsx';
import { bytes, cores, percent } from '../format/format.ts';
import { useSample } from '../live/use-live.ts';
import { type Sample, seriesOf, withSample } from '../metrics/history.ts';
import { FollowedView } from '../problems/views.tsx';

type PodMetrics = KubeObject & {
  readonly timestamp?: string;
  readonly containers?: readonly { readonly usage: { readonly cpu: string; readonly memory: string } }[];
  readonly gpus?: readonly UnitGpuUsage[];
};

const span = 900;
const every = 5;

interface Numbers {
  readonly cpu: readonly Sample[];
  readonly memory: readonly Sample[];
  readonly gpu: readonly Sample[];
  readonly gpuMemory: readonly Sample[];
}

const none: Numbers = { cpu: [], memory: [], gpu: [], gpuMemory: [] };

function withMetrics(numbers: Numbers, metrics: PodMetrics): Numbers {
  const at = Math.round((metrics.timestamp === undefined ? Date.now() : Date.parse(metrics.timestamp)) / 1000);
  const usage = metrics.containers?.[0]?.usage;
  const gpus = metrics.gpus ?? [];
  const ofGpus = (pick: (gpu: UnitGpuUsage) => number | undefined) =>
    Object.fromEntries(gpus.map((gpu, index) => [`GPU ${index}`, pick(gpu)]));
  const add = (history: readonly Sample[], values: Sample['values']) => withSample(history, { at, values }, span);
  return {
    cpu: usage === undefined ? numbers.cpu : add(numbers.cpu, { CPU: Number(scaledValue(parseQuantity(usage.cpu), -3)) }),
    memory: usage === undefined ? numbers.memory : add(numbers.memory, { Memory: Number(scaledValue(parseQuantity(usage.memory))) }),
    gpu:
      gpus.length === 0
        ? numbers.gpu
        : add(
            numbers.gpu,
            ofGpus(({ utilizationPercent }) => utilizationPercent),
          ),
    gpuMemory:
      gpus.length === 0
        ? numbers.gpuMemory
        : add(
            numbers.gpuMemory,
            ofGpus(({ memoryUsedBytes }) => memoryUsedBytes),
          ),
  };
}

const latestOf = (history: readonly Sample[], format: (value: number) => string): string =>
  Object.values(history.at(-1)?.values ?? {})
    .filter((value) => value !== undefined)
    .map(format)
    .join(' · ') || '–';

/** The use of processor, memory and GPUs by a unit, from now on. */
export function UnitMetrics({
  workspace,
  namespace,
  name,
}: {
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
}) {
  const sample = useSample<PodMetrics>(
    `/kube/clusters/${workspace}/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${name}`,
    every,
  );
  const [numbers, setNumbers] = useState(none);
  useEffect(() => {
    if (sample.state === 'content' && sample.content !== null) setNumbers((before) => withMetrics(before, sample.content));
  }, [sample]);
  const shown = useMemo(
    () =>
      [
        { title: 'GPU utilisation', history: numbers.gpu, format: percent, top: 100 },
        { title: 'GPU memory', history: numbers.gpuMemory, format: bytes, isBinary: true },
        { title: 'Processor', history: numbers.cpu, format: cores },
        { title: 'Memory', history: numbers.memory, format: bytes, isBinary: true },
      ].filter(({ history }) => history.some(({ values }) => Object.values(values).some((value) => value !== undefined))),
    [numbers],
  );
  if (sample.state === 'error' && sample.status.code === 404)
    return (
      <Empty icon="unit" title="No numbers yet">
        They come some seconds after the program has started, and only while it runs.
      </Empty>
    );
  return (
    <FollowedView of={sample} what="the numbers">
      {() => (
        <div className={plots['plots']}>
          {shown.map(({ title, history, format, top, isBinary }) => (
            <Plot
              key={title}
              title={title}
              latest={latestOf(history, format)}
              {...seriesOf(history)}
              format={format}
              {...(top !== undefined && { top })}
              {...(isBinary !== undefined && { isBinary })}
            />
          ))}
        </div>
      )}
    </FollowedView>
  );
}
