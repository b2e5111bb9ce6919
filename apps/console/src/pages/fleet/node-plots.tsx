import { type GPUNode, gpuNodeKind, type MeanAndMax, type NodeMetrics, platformWorkspace } from '@capstan/api';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { Section } from '../../components/page.tsx';
import plots from '../../components/plot.module.css';
import { Plot } from '../../components/plot.tsx';
import { Note } from '../../components/states.tsx';
import { continued, linesOf, type Moment } from '../../modules/fleet/lines.ts';
import { useReadings } from '../../modules/fleet/use-fleet.ts';
import { bytes, percent } from '../../modules/format/format.ts';
import { kubeClient } from '../../modules/kube/client.ts';
import { AskedView } from '../../modules/problems/views.tsx';

const hours = 6;
const span = hours * 3_600_000;
/** In minutes: the distance of two points. */
const step = 2;

async function read(node: string): Promise<NodeMetrics> {
  const from = new Date(Date.now() - span).toISOString();
  return kubeClient(platformWorkspace).resource(gpuNodeKind).readSubresource<NodeMetrics>(node, `metrics?from=${from}&step=${step}m`);
}

const shown = [
  { title: 'Utilisation', field: 'utilizationPercent', format: percent, top: 100 },
  { title: 'Memory', field: 'memoryUsedBytes', format: bytes, isBinary: true },
  { title: 'Temperature', field: 'temperatureCelsius', format: (value: number) => `${Math.round(value)} °C` },
  { title: 'Power', field: 'powerWatts', format: (value: number) => `${Math.round(value)} W` },
] as const;

/** All numbers of GPUs that the stream brought since the page was opened. */
function useMoments(): readonly Moment[] {
  const readings = useReadings();
  const [moments, setMoments] = useState<readonly Moment[]>([]);
  useEffect(() => {
    const at = Date.now();
    if (readings.size > 0) setMoments((before) => [...before.filter((one) => one.at > at - span), { at, readings }]);
  }, [readings]);
  return moments;
}

/** The last hours of the GPUs of a node, read once, and what comes on the stream of the page since then. */
export function NodePlots({ node }: { readonly node: GPUNode }) {
  const name = node.metadata.name!;
  const moments = useMoments();
  const hasGpus = (node.status?.gpus ?? []).length > 0;
  const metrics = useQuery({
    queryKey: ['node-metrics', name],
    queryFn: () => read(name),
    enabled: hasGpus,
    staleTime: 60_000,
    retry: false,
  });
  if (!hasGpus) return null;
  return (
    <Section title={`The last ${hours} hours`}>
      <AskedView of={metrics} what="numbers of the GPUs">
        {(history) => <Plots history={history} moments={moments} />}
      </AskedView>
    </Section>
  );
}

function Plots({ history, moments }: { readonly history: NodeMetrics; readonly moments: readonly Moment[] }) {
  const lines = useMemo(() => {
    const gpus = continued(history, moments, span);
    return shown
      .map((one) => ({ ...one, ...linesOf(gpus, (point) => point[one.field] as MeanAndMax | undefined) }))
      .filter(({ times }) => times.length > 0);
  }, [history, moments]);
  if (lines.length === 0)
    return (
      <Note>
        The GPUs have reported no numbers. Those of NVIDIA and AMD report some within a minute after their agent has started; declared ones
        never do.
      </Note>
    );
  return (
    <div className={plots['plots']}>
      {lines.map(({ title, times, series, format, ...rest }) => (
        <Plot
          key={title}
          title={title}
          latest=""
          times={times}
          series={series}
          format={format}
          {...('top' in rest && { top: rest.top })}
          {...('isBinary' in rest && { isBinary: rest.isBinary })}
        />
      ))}
    </div>
  );
}
