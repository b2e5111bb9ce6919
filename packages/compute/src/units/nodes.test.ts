import type { GPUNode, NodeUnit } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { LeaseTimes } from './lease-times.ts';
import { addressOf, fencedAfter, nodeStateOf } from './nodes.ts';

const since = '2026-01-02T00:00:00Z';
const node = (ready: string | undefined, rest: { spec?: object; metadata?: object; addresses?: object[] } = {}): GPUNode => {
  const condition = { type: 'Ready', status: ready, reason: 'Any', message: '', lastTransitionTime: since };
  const status = { conditions: ready === undefined ? [] : [condition], addresses: rest.addresses ?? [] };
  const metadata = { name: 'n', creationTimestamp: '2026-01-01T00:00:00Z', ...rest.metadata };
  return { apiVersion: '', kind: 'GPUNode', metadata, spec: rest.spec ?? {}, status } as unknown as GPUNode;
};
const leaving = { metadata: { deletionTimestamp: since } };

test.each([
  ['is ready', node('True'), { kind: 'heard' }],
  ['says that it is not ready', node('False'), { kind: 'heard' }],
  ['is silent', node('Unknown'), { kind: 'silent', since }],
  ['was never heard', node(undefined), { kind: 'silent', since: '2026-01-01T00:00:00Z' }],
  ['is being removed, and heard', node('True', leaving), { kind: 'heard' }],
  ['is being removed, and silent', node('Unknown', leaving), { kind: 'lost' }],
  ['was declared lost', node('Unknown', { spec: { lost: true } }), { kind: 'lost' }],
  ['was removed', undefined, { kind: 'lost' }],
])('a node that %s', (_, given, expected) => expect(nodeStateOf(given)).toEqual(expected));

test.each([
  [[], 'n'],
  [
    [
      { interface: 'lo', address: '127.0.0.1' },
      { interface: 'eth0', address: 'fe80::1' },
      { interface: 'eth0', address: '10.0.0.7' },
    ],
    '10.0.0.7',
  ],
  [[{ interface: 'eth0', address: 'fd00::1' }], 'fd00::1'],
])('among %j, others reach a node at %s', (addresses, expected) => expect(addressOf(node('True', { addresses }), 'n')).toBe(expected));

test.each([
  [{ stopGrace: '10s' }, undefined],
  [{ stopGrace: '10s', fenceAfter: '1m' }, 70_000 + 30_000],
  [{ stopGrace: '0s', fenceAfter: '1h' }, 3_960_000],
])('a unit with %j has surely ended after %s ms of silence', (spec, expected) =>
  expect(fencedAfter({ spec } as unknown as NodeUnit)).toBe(expected),
);

describe('the silence of a node', () => {
  const clock = { now: 1_000 };
  const times = new LeaseTimes(() => clock.now);
  const lease = (renewTime: string, namespace = 'node-n') => ({
    apiVersion: '',
    kind: 'Lease',
    metadata: { name: 'n', namespace },
    spec: { renewTime },
  });

  test('is counted from the start of this process, then from each renewal that it sees, whatever the clock of the node says', () => {
    clock.now = 5_000;
    expect(times.silence('n')).toBe(4_000);
    times.see(lease('1999-01-01T00:00:00Z'));
    expect(times.silence('n')).toBe(0);
    clock.now = 9_000;
    times.see(lease('1999-01-01T00:00:00Z'));
    times.see(lease('2030-01-01T00:00:00Z', 'elsewhere'));
    expect(times.silence('n')).toBe(4_000);
    times.see(lease('1998-01-01T00:00:00Z'));
    expect(times.silence('n')).toBe(0);
  });
});
