import { type GPUNode, gpuNodeKind, type MeanAndMax, type NodeMetrics, platformWorkspace } from '@capstan/api';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Section } from '../../components/page.tsx';
import plots from '../../components/plot.module.css';
import { Plot } from '../../components/plot.tsx';
import { linesOf } from '../../modules/fleet/lines.ts';
import { bytes, percent } from '../../modules/format/format.ts';
import { kubeClient } from '../../modules/kube/client.ts';

const hours = 6;

async function read(node: string): Promise<NodeMetrics> {
  const from = new Date(Date.now() - hours * 3_600_000).toISOString();
  return kubeClient(platformWorkspace).resource(gpuNodeKind).readSubresource<NodeMetrics>(node, `metrics?from=${from}&step=2m`);
}

const shown = [
  { title: 'Utilisation', field: 'utilizationPercent', format: percent, top: 100 },
  { title: 'Memory', field: 'memoryUsedBytes', format: bytes, isBinary: true },
  { title: 'Temperature', field: 'temperatureCelsius', format: (value: number) => `${Math.round(value)} °C` },
  { title: 'Power', field: 'powerWatts', format: (value: number) => `${Math.round(value)} W` },
] as const;

/** The last hours of the GPUs of a node. Declared GPUs have no numbers, and then there is nothing to show. */
export function NodePlots({ node }: { readonly node: GPUNode }) {
  const name = node.metadata.name!;
  const metrics = useQuery({ queryKey: ['node-metrics', name], queryFn: () => read(name), staleTime: 60_000, retry: false });
  const lines = useMemo(
    () =>
      shown
        .map((one) => ({ ...one, ...linesOf(metrics.data?.gpus ?? [], (point) => point[one.field] as MeanAndMax | undefined) }))
        .filter(({ times }) => times.length > 0),
    [metrics.data],
  );
  if (lines.length === 0) return null;
  return (
    <Section title={`The last ${hours} hours`}>
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
    </Section>
  );
}
