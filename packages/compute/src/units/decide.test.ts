import type { Allocation, AllocationStatus, BookingEntry, GPUNode } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { decide, unitFinalizer } from './decide.ts';
import { allocationFor } from './making.ts';
import { hasNothingToShow } from './pod.ts';
import type { Scene } from './scene.ts';
import { nextStart, startingStatus } from './status.ts';
import { unitWith } from './testing/unit.ts';

const conditions = [{ type: 'Ready', status: 'True', reason: 'Any', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }];
const node = { apiVersion: '', kind: 'GPUNode', metadata: { name: 'a' }, spec: {}, status: { conditions } } as unknown as GPUNode;

/** A unit whose status names the node `a`, as it does while its allocation is told about a warm unit. */
function named(allocationStatus: AllocationStatus | undefined, more: Partial<Scene> = {}): Scene {
  const fresh = unitWith();
  const unit = { ...fresh, metadata: { ...fresh.metadata, finalizers: [unitFinalizer] } };
  const begun = { ...unit, status: nextStart(unit, { allocation: 'order', message: 'waits' }) };
  const order = allocationFor(begun);
  const allocation = { ...order, metadata: { ...order.metadata, uid: 'uid' }, ...(allocationStatus && { status: allocationStatus }) };
  const scene: Scene = {
    unit: begun,
    now: 0,
    allocations: [allocation as Allocation],
    nodeUnits: [],
    pod: undefined,
    node: () => node,
    silence: () => 0,
    booking: () => undefined,
    offering: () => undefined,
    storage: () => undefined,
    absent: new Set(),
    readBookings: new Set(),
    sent: new Set(),
    isPodTaken: false,
    configuration: { kind: 'complete' },
    ...more,
  };
  return { ...scene, unit: { ...begun, status: startingStatus(scene, ['a']) } };
}

const fail = (): never => {
  throw new Error('another step was expected');
};
const active = (on: string): AllocationStatus => ({
  phase: 'Active',
  attempt: 'one',
  parts: [{ node: on, devices: [] }],
});
const entry = { attempt: 'one', state: 'Granted', devices: ['gpu'], cpu: 1, memory: 1 } as unknown as BookingEntry;

describe('a unit whose status names its node before its allocation does', () => {
  test('starts as soon as the allocation is granted, without another write of its status', () => {
    const scene = named(active('a'), { booking: () => entry });
    expect(decide(scene)).toMatchObject({ kind: 'start', nodeUnits: [{ metadata: { namespace: 'node-a' } }] });
    const step = decide(scene);
    const made = step.kind === 'start' ? step.nodeUnits : [];
    const shown = decide({ ...scene, nodeUnits: made });
    expect(shown.kind).toBe('showPod');
    // Its Pod is pending, too, and is reported on when the node has reported something.
    const pod = { ...(shown.kind === 'showPod' ? shown.pod : fail()), status: { phase: 'Pending' } };
    expect(decide({ ...scene, nodeUnits: made, pod })).toEqual({ kind: 'wait' });
    const waiting = { ...scene.unit.status, members: [{ rank: 0, node: 'a', phase: 'Waiting', reason: 'UploadMissing' }] } as const;
    expect(hasNothingToShow(pod, scene.unit)).toBe(true);
    expect(hasNothingToShow(pod, { ...scene.unit, status: waiting })).toBe(false);
  });

  test('forgets the node if the allocation was never told, once the server says that nothing was created there', () => {
    expect(decide(named(undefined))).toEqual({ kind: 'look', nodes: ['a'] });
    const step = decide(named(undefined, { absent: new Set(['a']) }));
    expect(step).toMatchObject({ kind: 'status', status: { phase: 'Pending', message: 'waits for an allocation' } });
    expect(step.kind === 'status' && step.status.members).toBeUndefined();
  });

  test('forgets the node if the allocation was granted elsewhere', () => {
    expect(decide(named(active('b')))).toEqual({ kind: 'readBookings', nodes: ['a'] });
    const read = { readBookings: new Set(['a']) };
    expect(decide(named(active('b'), read))).toEqual({ kind: 'look', nodes: ['a'] });
    const step = decide(named(active('b'), { ...read, absent: new Set(['a']) }));
    expect(step).toMatchObject({ kind: 'status', status: { phase: 'Pending' } });
    expect(step.kind === 'status' && step.status.members).toBeUndefined();
  });
});
