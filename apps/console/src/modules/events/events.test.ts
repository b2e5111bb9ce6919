import { expect, test } from 'vitest';
import type { KubeEvent } from '../kube/core-kinds.ts';
import { rowsOf, selectorsOf } from './events.ts';

const event = (name: string, fields: object): KubeEvent => ({ apiVersion: 'v1', kind: 'Event', metadata: { name }, ...fields });

test('reads both forms of events, the newest first', () => {
  const rows = rowsOf([
    event('old', { involvedObject: { kind: 'Pod', name: 'train' }, lastTimestamp: '2026-01-01T00:00:00Z', count: 3, reason: 'Pulled' }),
    event('series', { eventTime: '2026-01-01T00:00:00Z', series: { count: 7, lastObservedTime: '2026-01-03T00:00:00Z' } }),
    event('new', { eventTime: '2026-01-02T00:00:00Z', lastTimestamp: null, type: 'Warning' }),
  ]);
  expect(rows.map(({ id, count }) => [id, count])).toEqual([
    ['series', 7],
    ['new', 1],
    ['old', 3],
  ]);
  expect(rows[1]?.isWarning).toBe(true);
  expect(rows[2]?.about).toBe('Pod train');
});

test('asks for the events of every object once, and of no more objects than a tab can follow', () => {
  const unit = { kind: 'GPUUnit', name: 'train' };
  expect(selectorsOf([unit, { kind: 'Pod', name: 'train' }, unit])).toEqual([
    'involvedObject.kind=GPUUnit,involvedObject.name=train',
    'involvedObject.kind=Pod,involvedObject.name=train',
  ]);
  expect(selectorsOf(Array.from({ length: 500 }, (_, index) => ({ kind: 'AppMember', name: `m${index}` }))).length).toBe(60);
});
