import type { GPUNode } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { fleetNodeOf } from './fleet-node.ts';

const health = { state: 'Healthy', reason: 'Healthy', message: '', since: '2026-01-01T00:00:00Z' } as const;
const node = (rest: object, metadata: object = {}): GPUNode =>
  ({ apiVersion: 'fleet.capstan.dev/v1alpha1', kind: 'GPUNode', metadata: { name: 'n', ...metadata }, ...rest }) as GPUNode;
const gpusOf = (gpu: object) => fleetNodeOf(node({ status: { gpus: [{ uuid: 'g', health, ...gpu }] } })).gpus;

describe('a node of the fleet', () => {
  test('that has reported nothing is unknown and empty', () => {
    expect(fleetNodeOf(node({}))).toEqual({
      name: 'n',
      pool: 'default',
      labels: {},
      cordoned: false,
      ready: 'Unknown',
      cpu: 0,
      memory: 0,
      gpus: [],
    });
  });

  test.each([
    ['unschedulable', { spec: { unschedulable: true } }, {}, true],
    ['in maintenance', { spec: { maintenance: true } }, {}, true],
    ['lost', { spec: { lost: true } }, {}, true],
    ['being removed', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }, true],
    ['none of these', { spec: { pool: 'a' } }, {}, false],
  ])('is closed if it is %s', (_, rest, metadata, cordoned) => {
    expect(fleetNodeOf(node(rest, metadata)).cordoned).toBe(cordoned);
  });

  test.each(['True', 'False', 'Unknown'] as const)('is as ready as its condition says: %s', (status) => {
    const conditions = [{ type: 'Ready', status, reason: 'Because', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }];
    expect(fleetNodeOf(node({ status: { conditions } })).ready).toBe(status);
  });

  test('has whole GPUs with their links, and instances instead of GPUs that are divided', () => {
    expect(gpusOf({ model: 'H100', memoryBytes: 80, linkGroup: 'a', numaNode: 1 })).toEqual([
      { uuid: 'g', model: 'H100', memory: 80, nvlink: 'a', numa: 1, health: 'Healthy' },
    ]);
    const devices = [{ uuid: 'm', profile: '1g.10gb', memoryBytes: 10 }];
    expect(gpusOf({ model: 'H100', memoryBytes: 80, mig: { mode: 'enabled', devices } })).toEqual([
      { uuid: 'm', model: 'H100', memory: 10, migProfile: '1g.10gb', health: 'Healthy' },
    ]);
  });

  test('does not offer GPUs that were never read', () => {
    expect(gpusOf({})).toEqual([]);
  });
});
