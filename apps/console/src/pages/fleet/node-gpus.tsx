import type { NodeGpu } from '@capstan/api';
import { useMemo } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Note } from '../../components/states.tsx';
import { Status, type Tone } from '../../components/status.tsx';
import type { Cell, NodeCells } from '../../modules/fleet/cells.ts';
import type { Reading } from '../../modules/fleet/readings.ts';
import { useReadings } from '../../modules/fleet/use-fleet.ts';
import { bytes, percent } from '../../modules/format/format.ts';

const tones: Readonly<Record<string, Tone>> = { Healthy: 'good', Degraded: 'warn', Failed: 'bad', Missing: 'bad', Unknown: 'idle' };

interface GpuRow {
  readonly index: number;
  readonly gpu: NodeGpu;
  readonly cell: Cell;
  readonly reading: Reading;
}

/** Nobody gets a GPU that is not healthy, so such a one is not free. */
function ownerWords({ gpu, cell }: GpuRow): string {
  if (gpu.health.state === 'Healthy') return cell.owner;
  return [cell.owner === 'free' ? '' : cell.owner, gpu.health.message].filter(Boolean).join(' · ');
}

const columns: readonly Column<GpuRow>[] = [
  { id: 'index', header: 'GPU', value: ({ index }) => index },
  { id: 'model', header: 'Model', value: ({ gpu }) => gpu.model },
  {
    id: 'health',
    header: 'Health',
    value: ({ gpu }) => gpu.health.state,
    cell: ({ gpu }) => <Status tone={tones[gpu.health.state] ?? 'idle'} word={gpu.health.state} />,
  },
  {
    id: 'use',
    header: 'Utilisation',
    value: ({ reading }) => reading.utilization,
    cell: ({ reading }) => (reading.utilization === undefined ? '–' : percent(reading.utilization * 100)),
    align: 'end',
  },
  {
    id: 'memory',
    header: 'Memory',
    value: ({ reading }) => reading.memoryUsed,
    cell: ({ reading, gpu }) => {
      const total = gpu.memoryBytes === undefined ? '' : bytes(gpu.memoryBytes);
      return reading.memoryUsed === undefined ? total || '–' : `${bytes(reading.memoryUsed)} of ${total}`;
    },
    align: 'end',
    wideOnly: true,
  },
  {
    id: 'temperature',
    header: 'Temperature',
    value: ({ reading }) => reading.temperature,
    cell: ({ reading }) => (reading.temperature === undefined ? '–' : `${Math.round(reading.temperature)} °C`),
    align: 'end',
    wideOnly: true,
  },
  {
    id: 'power',
    header: 'Power',
    value: ({ reading }) => reading.power,
    cell: ({ reading }) => (reading.power === undefined ? '–' : `${Math.round(reading.power)} W`),
    align: 'end',
    wideOnly: true,
  },
  {
    id: 'owner',
    header: 'Booked by',
    value: ownerWords,
    grow: true,
  },
];
const byIndex = { id: 'index' };

export function NodeGpus({ cells }: { readonly cells: NodeCells }) {
  const readings = useReadings();
  const rows = useMemo(
    () =>
      (cells.node.status?.gpus ?? []).map(
        (gpu, index): GpuRow => ({ index, gpu, cell: cells.cells[index]!, reading: readings.get(gpu.uuid) ?? {} }),
      ),
    [cells, readings],
  );
  return rows.length === 0 ? (
    <Note>This machine has no GPUs. It runs units without GPUs. GPUs appear as soon as the tools of their vendor find them.</Note>
  ) : (
    <DataTable label="GPUs" columns={columns} rows={rows} idOf={({ gpu }) => gpu.uuid} sortBy={byIndex} />
  );
}
