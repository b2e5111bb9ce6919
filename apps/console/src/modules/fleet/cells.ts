import type { BookingEntry, GPUNode, NodeBooking, NodeGpu } from '@capstan/api';
import { bytes, percent } from '../format/format.ts';
import type { Reading } from './readings.ts';

/** One GPU in the map of the fleet. */
export interface Cell {
  readonly uuid: string;
  /** Free and booked GPUs work; those that are cleaned go to nobody yet; the others are out of service. */
  readonly state: 'free' | 'booked' | 'cleaning' | 'degraded' | 'failed';
  /** Who has it, or each of the instances of a divided one; `free` for nobody. */
  readonly owner: string;
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

const isCleaned = ({ state }: BookingEntry): boolean => state === 'Releasing' || state === 'Cleaning';

function ownerOf(entry: BookingEntry | undefined): string {
  if (entry === undefined) return 'free';
  const owner = `${entry.allocation.name} in ${entry.allocation.path ?? entry.allocation.cluster}`;
  return isCleaned(entry) ? `being cleaned after ${owner}` : owner;
}

export function cellsOf(node: GPUNode, booking: NodeBooking | undefined, readings: ReadonlyMap<string, Reading>): NodeCells {
  const entries = booking?.spec.entries ?? [];
  const byDevice = new Map(entries.flatMap((entry) => entry.devices.map((device) => [device, entry] as const)));
  const cells = (node.status?.gpus ?? []).map((gpu, index) => cellOf(gpu, { index, byDevice, reading: readings.get(gpu.uuid) ?? {} }));
  return { node, cells, booked: cells.filter(({ state }) => state === 'booked').length, entries };
}

interface Ownership {
  readonly state: 'free' | 'booked' | 'cleaning';
  readonly owner: string;
}

/** An entry may have the whole card or some of its instances. */
function ownershipOf({ uuid, mig }: NodeGpu, byDevice: ReadonlyMap<string, BookingEntry>): Ownership {
  const whole = byDevice.get(uuid);
  const instances = whole === undefined ? (mig?.devices ?? []) : [];
  const entries = [whole, ...instances.map((instance) => byDevice.get(instance.uuid))].filter((entry) => entry !== undefined);
  return {
    state: entries.length === 0 ? 'free' : entries.every(isCleaned) ? 'cleaning' : 'booked',
    owner:
      instances.length === 0
        ? ownerOf(whole)
        : instances.map((instance) => `${instance.profile}: ${ownerOf(byDevice.get(instance.uuid))}`).join(', '),
  };
}

interface CellParts {
  readonly index: number;
  readonly byDevice: ReadonlyMap<string, BookingEntry>;
  readonly reading: Reading;
}

function cellOf(gpu: NodeGpu, { index, byDevice, reading }: CellParts): Cell {
  const { state } = gpu.health;
  const ownership = ownershipOf(gpu, byDevice);
  const shown = state === 'Healthy' ? ownership.state : state === 'Degraded' ? 'degraded' : 'failed';
  const { utilization, memoryUsed, memoryTotal, temperature, power } = reading;
  const parts = [
    `GPU ${index} · ${gpu.model ?? 'unknown model'}`,
    state === 'Healthy' ? undefined : `${state}: ${gpu.health.message}`,
    ownership.owner,
    utilization === undefined ? undefined : percent(utilization * 100),
    memoryUsed === undefined ? undefined : `${bytes(memoryUsed)}${memoryTotal === undefined ? '' : ` of ${bytes(memoryTotal)}`}`,
    temperature === undefined ? undefined : `${Math.round(temperature)} °C`,
    power === undefined ? undefined : `${Math.round(power)} W`,
  ];
  return {
    uuid: gpu.uuid,
    state: shown,
    owner: ownership.owner,
    utilization,
    text: parts.filter((part) => part !== undefined).join(' · '),
  };
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
