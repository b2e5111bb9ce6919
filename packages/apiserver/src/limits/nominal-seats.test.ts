import { rootCluster } from '@capstan/api';
import { expect, test } from 'vitest';
import { MemoryObjects } from '../authz/testing.ts';
import { bootstrapObjects } from '../bootstrap/objects.ts';
import { repairs } from '../bootstrap/reconcile.ts';
import { nominalSeats } from './nominal-seats.ts';

test('divides the places among the priority levels, and gives each at least one', () => {
  const objects = new MemoryObjects();
  for (const { resource, object } of repairs(bootstrapObjects(new Date(0)), objects, rootCluster)) objects.put(resource, object);
  expect(Object.fromEntries(nominalSeats(objects, 600))).toEqual({
    'capstan-node-agents': 85,
    'catch-all': 11,
    exempt: 0,
    'global-default': 43,
    'leader-election': 22,
    'node-high': 85,
    system: 64,
    'workload-high': 85,
    'workload-low': 211,
  });
});

test('returns nothing when there are no priority levels', () => {
  expect(nominalSeats(new MemoryObjects(), 600).size).toBe(0);
});
