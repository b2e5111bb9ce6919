import { gpuNodeKind, nodeBookingKind, nodeMetricsPath, platformWorkspace, rootCluster } from '@capstan/api';
import { useMemo } from 'react';
import type { Followed } from '../live/protocol.ts';
import { useLive, useSample } from '../live/use-live.ts';
import { cellsOf, type NodeCells } from './cells.ts';
import { type Reading, readingsIn } from './readings.ts';

const platform = { workspace: platformWorkspace };
const seconds = 10;
const none: ReadonlyMap<string, Reading> = new Map();

/** The latest numbers of all GPUs. Empty if the person may not read them. */
export function useReadings(): ReadonlyMap<string, Reading> {
  const sample = useSample<unknown>(`/kube/clusters/${rootCluster}${nodeMetricsPath}`, seconds);
  return useMemo(() => (sample.state === 'content' && typeof sample.content === 'string' ? readingsIn(sample.content) : none), [sample]);
}

/** All nodes with their GPUs and bookings. */
export function useFleet(): Followed<readonly NodeCells[]> {
  const nodes = useLive(gpuNodeKind, platform);
  const bookings = useLive(nodeBookingKind, platform);
  const readings = useReadings();
  return useMemo(() => {
    if (nodes.state !== 'content') return nodes;
    // Without its bookings, a fleet would look free.
    if (bookings.state !== 'content') return bookings;
    const byNode = new Map(bookings.content.map((booking) => [booking.metadata.name, booking]));
    const content = nodes.content.map((node) => cellsOf(node, byNode.get(node.metadata.name), readings));
    return {
      state: 'content',
      content: content.sort((a, b) => a.node.metadata.name!.localeCompare(b.node.metadata.name!, 'en', { numeric: true })),
    };
  }, [nodes, bookings, readings]);
}
