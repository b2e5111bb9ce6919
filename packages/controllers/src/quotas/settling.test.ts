import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { Settling } from './settling.ts';

const quota = (used: object): KubeObject => ({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: {}, status: { used } }) as KubeObject;

test('what was raised settles after a while, each name on its own', () => {
  let now = 0;
  const settling = new Settling(1000, () => now);
  now = 5000;
  settling.observe('q', quota({ pods: '1', cpu: '1', secrets: '1' }), quota({ pods: '2', cpu: '1000m', secrets: '0', configmaps: '9' }));
  now = 5400;
  expect(['pods', 'cpu', 'secrets', 'configmaps'].map((name) => settling.wait('q', name))).toEqual([600, 0, 0, 0]);
  now = 6000;
  expect(settling.wait('q', 'pods')).toBe(0);
});

test('what was raised before the beginning is taken as raised then', () => {
  let now = 100;
  const settling = new Settling(1000, () => now);
  expect(settling.wait('q', 'pods')).toBe(1000);
  now = 1100;
  expect(settling.wait('q', 'pods')).toBe(0);
});
