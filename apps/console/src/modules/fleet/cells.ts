import type { BookingEntry, GPUNode, NodeBooking, NodeGpu } from '@capstan/api';
import { bytes, percent } from '../format/format.ts';
import type { Reading } from './readings.ts';

/** One GPU in the map of the fleet. */
export interface Cell {
  readonly uuid: string;
  /** Free and booked GPUs work; those that are cleaned go to nobody yet; the others are out of service. */
  readonly state: 'free' | 'booked' | 'cleaning' | 'degraded' | 'failed';
  /** From 0 to 1; undefined if it is not known. */
  readonly utilization: number | undefined;
  /** Everything about it, for people who point at it. */
  readonly text: string;
}

export interface NodeCells {
  readonly node: GPUNode;
  readonly cells: readonly Cell[];
  readonly booked: number;
  readonly entries: readonly BookingEntry[];
}

const owned = (entry: BookingEntry): string => `${entry.allocation.name} in ${entry.allocation.path ?? entry.allocation.cluster}`;

export function cellsOf(node: GPUNode, booking: NodeBooking | undefined, readings: ReadonlyMap<string, Reading>): NodeCells {
  const entries = booking?.spec.entries ?? [];
  const byDevice = new Map(entries.flatMap((entry) => entry.devices.map((device) => [device, entry] as const)));
  const cells = (node.status?.gpus ?? []).map((gpu, index) =>
    cellOf(gpu, { index, entry: entryOf(gpu, byDevice), reading: readings.get(gpu.uuid) ?? {} }),
  );
  return { node, cells, booked: cells.filter(({ state }) => state === 'booked').length, entries };
}

/** An entry may have the whole card or some of its instances. */
function entryOf(gpu: NodeGpu, byDevice: ReadonlyMap<string, BookingEntry>): BookingEntry | undefined {
  return byDevice.get(gpu.uuid) ?? (gpu.mig?.devices ?? []).map(({ uuid }) => byDevice.get(uuid)).find((entry) => entry !== undefined);
}

function cellOf(
  gpu: NodeGpu,
  { index, entry, reading }: { readonly index: number; readonly entry: BookingEntry | undefined; readonly reading: Reading },
): Cell {
  const { state } = gpu.health;
  const isCleaned = entry?.state === 'Releasing' || entry?.state === 'Cleaning';
  const use = entry === undefined ? 'free' : isCleaned ? 'cleaning' : 'booked';
  const shown = state === 'Healthy' ? use : state === 'Degraded' ? 'degraded' : 'failed';
  const { utilization, memoryUsed, memoryTotal, temperature, power } = reading;
  const parts = [
    `GPU ${index} · ${gpu.model ?? 'unknown model'}`,
    state === 'Healthy' ? undefined : `${state}: ${gpu.health.message}`,
    entry === undefined ? 'free' : isCleaned ? `being cleaned after ${owned(entry)}` : owned(entry),
    utilization === undefined ? undefined : percent(utilization * 100),
    memoryUsed === undefined ? undefined : `${bytes(memoryUsed)}${memoryTotal === undefined ? '' : ` of ${bytes(memoryTotal)}`}`,
    temperature === undefined ? undefined : `${Math.round(temperature)} °C`,
    power === undefined ? undefined : `${Math.round(power)} W`,
  ];
  return { uuid: gpu.uuid, state: shown, utilization, text: parts.filter((part) => part !== undefined).join(' · ') };
}

export interface FleetTotals {
  readonly gpus: number;
  readonly booked: number;
  readonly free: number;
  readonly broken: number;
  /** Of all GPUs that report it, from 0 to 1. */
  readonly utilization: number | undefined;
}

export function totalsOf(nodes: readonly NodeCells[]): FleetTotals {
  const cells = nodes.flatMap((node) => node.cells);
  const of = (...states: readonly Cell['state'][]): number => cells.filter(({ state }) => states.includes(state)).length;
  const known = cells.flatMap(({ utilization }) => (utilization === undefined ? [] : [utilization]));
  return {
    gpus: cells.length,
    booked: of('booked'),
    free: of('free'),
    broken: of('failed', 'degraded', 'cleaning'),
    utilization: known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0) / known.length,
  };
}
