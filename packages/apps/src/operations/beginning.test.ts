import type { AppMember, AppOperation } from '@capstan/api';
import { formatTime } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import type { Scene } from '../instances/scene.ts';
import type { View } from '../instances/view.ts';
import { wantedOperation } from './beginning.ts';
import { automaticAnnotation } from './types.ts';

const minute = 60_000;
const start = Date.parse('2031-05-06T07:00:00Z');
const at = (time: number): string => formatTime(new Date(time));

const view = {
  kind: 'clear',
  revision: 'r',
  version: '1',
  targets: ['one', 'two', 'three'].map((name) => ({ name, component: 'node' })),
} as unknown as Extract<View, { kind: 'clear' }>;

const member = (name: string, status: object = {}): AppMember =>
  ({
    metadata: { name },
    spec: { component: 'node' },
    status: { joined: true, state: 'running', health: 'healthy', ...status },
  }) as unknown as AppMember;

const reconciled = (sequence: number, time: number): AppOperation =>
  ({
    metadata: { name: `o${sequence}`, annotations: { [automaticAnnotation]: 'true' } },
    spec: { type: 'reconcile', dryRun: false },
    status: { state: 'succeeded', sequence, startedAt: at(time), finishedAt: at(time) },
  }) as unknown as AppOperation;

interface Given {
  readonly members?: readonly AppMember[];
  readonly operations?: readonly AppOperation[];
  readonly isInSync?: boolean;
  readonly certificatesExpireAt?: string;
  readonly app?: object;
  readonly now?: number;
}

function sceneOf({
  members = ['one', 'two', 'three'].map((name) => member(name)),
  operations = [],
  isInSync = false,
  now = start,
  certificatesExpireAt,
  app,
}: Given): Scene {
  const condition = { type: 'InSync', status: isInSync ? 'True' : 'False', lastTransitionTime: at(start), reason: 'x', message: '' };
  const instance = { metadata: {}, spec: { stopped: false }, status: { revision: 'r', conditions: [condition], certificatesExpireAt } };
  return { instance, members, operations, now, app, probe: () => ({ every: 30_000 }) } as unknown as Scene;
}

describe('an instance that has drifted', () => {
  test('is reconciled by the platform', () => {
    expect(wantedOperation(sceneOf({}), view)).toEqual({ type: 'reconcile', isAutomatic: true });
    expect(wantedOperation(sceneOf({ isInSync: true }), view)).toBeUndefined();
  });

  test('is left to a person if more than a third of the members is not healthy', () => {
    const members = [member('one', { health: 'degraded' }), member('two', { health: 'unknown' }), member('three')];
    expect(wantedOperation(sceneOf({ members }), view)).toBeUndefined();
  });

  test.each([1, 2])('is reconciled though it has only %d members, one of which is not healthy', (count) => {
    const members = [member('one', { health: 'degraded' }), member('two')].slice(0, count);
    expect(wantedOperation(sceneOf({ members }), { ...view, targets: view.targets.slice(0, count) })).toEqual({
      type: 'reconcile',
      isAutomatic: true,
    });
    const all = [member('one', { health: 'degraded' }), member('two', { health: 'unknown' })];
    expect(wantedOperation(sceneOf({ members: all }), { ...view, targets: view.targets.slice(0, 2) })).toBeUndefined();
  });

  test('is tried again after growing pauses, three times', () => {
    const once = [reconciled(1, start)];
    expect(wantedOperation(sceneOf({ operations: once, now: start + 4 * minute }), view)).toBeUndefined();
    expect(wantedOperation(sceneOf({ operations: once, now: start + 5 * minute }), view)).toMatchObject({ type: 'reconcile' });
    const thrice = [1, 2, 3].map((sequence) => reconciled(sequence, start + sequence * minute));
    expect(wantedOperation(sceneOf({ operations: thrice, now: start + 24 * 60 * minute }), view)).toBeUndefined();
  });

  test('is left alone until somebody has looked at what the last operation has left', () => {
    const changed: AppOperation = {
      ...reconciled(1, start),
      metadata: { name: 'c' },
      spec: { instance: 'i', type: 'change' },
    } as AppOperation;
    const seen = (time: number): Scene => {
      const scene = sceneOf({ operations: [changed] });
      return { ...scene, instance: { ...scene.instance, status: { ...scene.instance.status, observedAt: at(time) } } } as Scene;
    };
    expect(wantedOperation(seen(start - minute), view)).toBeUndefined();
    expect(wantedOperation(seen(start + minute / 2), view)).toBeUndefined();
    expect(wantedOperation(seen(start + minute), view)).toMatchObject({ type: 'reconcile' });
  });

  test('may drift again later: only what was done about this drift counts', () => {
    const before = [1, 2, 3].map((sequence) => reconciled(sequence, start - sequence * minute));
    expect(wantedOperation(sceneOf({ operations: before, now: start + 60 * minute }), view)).toMatchObject({ type: 'reconcile' });
  });
});

describe('certificates that expire', () => {
  const day = 24 * 60 * minute;
  const app = { spec: { operations: [{ name: 'rotate-certificates' }] } };
  const given = (days: number, more: Given = {}): Scene =>
    sceneOf({ app, isInSync: true, certificatesExpireAt: at(start + days * day), ...more });
  const renewed = (sequence: number, time: number): AppOperation => {
    const operation = reconciled(sequence, time);
    return { ...operation, spec: { ...operation.spec, type: 'rotate-certificates' } };
  };

  test('are renewed by the platform a month before', () => {
    expect(wantedOperation(given(29), view)).toEqual({ type: 'rotate-certificates', isAutomatic: true });
    expect(wantedOperation(given(31), view)).toBeUndefined();
  });

  test('are renewed though all members are degraded because of it, but not while one has failed or is silent', () => {
    const all = (health: string) => ['one', 'two', 'three'].map((name) => member(name, { health }));
    expect(wantedOperation(given(29, { members: all('degraded') }), view)).toMatchObject({ type: 'rotate-certificates' });
    for (const health of ['failed', 'unknown'])
      expect(wantedOperation(given(29, { members: [member('one', { health }), member('two'), member('three')] }), view)).toBeUndefined();
  });

  test('are up to people if the App cannot renew them, and after three tries', () => {
    expect(wantedOperation(given(29, { app: { spec: {} } }), view)).toBeUndefined();
    const tries = [1, 2, 3].map((sequence) => renewed(sequence, start - sequence));
    expect(wantedOperation(given(29, { operations: tries }), view)).toBeUndefined();
    const lastYear = [1, 2, 3].map((sequence) => renewed(sequence, start - 300 * day));
    expect(wantedOperation(given(29, { operations: lastYear }), view)).toMatchObject({ type: 'rotate-certificates' });
  });
});
