import type { FleetQuota, GPUNode, NodeBooking, NodeReservation, OfferingSpec } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { type FleetState, type PlanInput, planAllocation } from './plan.ts';

const at = '2030-01-01T00:00:00Z';
const now = Date.parse(at);
const offering = { gpu: { model: 'H100', count: 4 }, cpu: 0, memory: 0, exclusive: false, strategy: 'Pack' } as unknown as OfferingSpec;

const node = (name: string, model = 'H100'): GPUNode =>
  ({
    metadata: { name },
    spec: {},
    status: {
      machine: { cpus: 64, memoryBytes: 2 ** 40 },
      gpus: Array.from({ length: 8 }, (_, index) => ({
        uuid: `${name}-${index}`,
        model,
        memoryBytes: 80 * 2 ** 30,
        health: { state: 'Healthy' },
      })),
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }) as unknown as GPUNode;

const booking = (name: string, count: number, path: string): NodeBooking => {
  const devices = Array.from({ length: count }, (_, index) => `${name}-${index}`);
  const allocation = { cluster: 'id', namespace: 'default', name: 'own', uid: `own-${name}`, path };
  return { metadata: { name }, spec: { entries: [{ allocation, attempt: 'a', state: 'Granted', devices, cpu: 0, memory: 0 }] } } as never;
};

const limit = (workspace: string, gpus: number): FleetQuota => ({ spec: { workspace, limits: { gpus } } }) as unknown as FleetQuota;
const reservation = (workspace: string, name: string): NodeReservation =>
  ({
    metadata: { name: 'r', uid: 'r' },
    spec: { workspace, nodes: [{ node: name }], until: '2030-01-02T00:00:00Z' },
  }) as unknown as NodeReservation;

function plan(fleet: Partial<FleetState> = {}, input: Partial<PlanInput> = {}) {
  const state = { nodes: [node('n1')], bookings: [], quotas: [], reservations: [], volumes: [], ...fleet };
  return planAllocation({ fleet: state, offering, order: { nodes: 1 }, workspace: 'root:acme:vision', now, ...input });
}

describe('a plan', () => {
  it('names the node and its devices, and what the order would use of every limit above it', () => {
    const quotas = [limit('root:acme', 16), limit('root:acme:vision', 8), limit('root:other', 1)];
    const found = plan({ quotas, bookings: [booking('n1', 2, 'root:acme:vision')] });
    expect(found).toMatchObject({ kind: 'placed', parts: [{ node: 'n1' }] });
    const devices = 'parts' in found ? found.parts.flatMap((part) => part.devices) : [];
    expect([devices.length, devices.includes('n1-0'), devices.includes('n1-1')]).toEqual([4, false, false]);
    expect('uses' in found && found.uses.map(({ used, after }) => [used, after])).toEqual([
      [2, 6],
      [2, 6],
    ]);
  });

  it('says which limit an order would exceed, also one that holds for the organization', () => {
    const found = plan({ quotas: [limit('root:acme', 5)], bookings: [booking('n1', 2, 'root:acme:speech')] });
    expect(found).toMatchObject({
      kind: 'limited',
      message: expect.stringContaining('the limit of root:acme is 5 GPUs; 2 GPUs are in use'),
    });
  });

  it('counts the memory of the devices that an order would get, though the offering names only their model', () => {
    const memory = (gpuMemory: string): FleetQuota =>
      ({ spec: { workspace: 'root:acme', limits: { gpuMemory } } }) as unknown as FleetQuota;
    const bookings = [booking('n1', 2, 'root:acme:speech')];
    expect(plan({ quotas: [memory('479Gi')], bookings })).toMatchObject({
      kind: 'limited',
      message: expect.stringContaining(
        'the limit of root:acme is 479 GiB of GPU memory; 160 GiB of GPU memory are in use, and 320 GiB of GPU memory were asked for',
      ),
    });
    expect(plan({ quotas: [memory('480Gi')], bookings })).toMatchObject({ kind: 'placed' });
  });

  it('takes another model than one of which the order would exceed the limit, if the offering names none', () => {
    const any = { ...offering, gpu: { count: 4 } } as unknown as OfferingSpec;
    const models = { A100: 3, H100: 4 };
    const quotas = [{ spec: { workspace: 'root:acme', limits: { models } } }] as unknown as FleetQuota[];
    const nodes = [node('n1', 'A100'), node('n2')];
    expect(plan({ nodes, quotas }, { offering: any })).toMatchObject({ kind: 'placed', parts: [{ node: 'n2' }] });
    expect(plan({ nodes: [node('n1', 'A100')], quotas }, { offering: any })).toMatchObject({
      kind: 'limited',
      message: expect.stringContaining('the limit of root:acme is 3 A100'),
    });
  });

  it('says what is missing', () => {
    expect(plan({ bookings: [booking('n1', 6, 'root:acme:speech')] })).toMatchObject({
      kind: 'short',
      message: 'needs 4 H100 on one node; free: 2 on n1',
    });
  });

  it('counts nodes that are reserved for the workspace, and not those of others', () => {
    expect(plan({ reservations: [reservation('root:acme', 'n1')] })).toMatchObject({ kind: 'placed' });
    expect(plan({ reservations: [reservation('root:other', 'n1')] })).toMatchObject({
      kind: 'short',
      message: expect.stringContaining('reserved for others on n1'),
    });
    const later = Date.parse('2030-01-03T00:00:00Z');
    expect(plan({ reservations: [reservation('root:other', 'n1')] }, { now: later })).toMatchObject({ kind: 'placed' });
  });
});
