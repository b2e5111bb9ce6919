import type { OfferingSpec } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { requestFor } from './order.ts';
import type { PlacementRequest } from './request.ts';

const defaults = { exclusive: false, strategy: 'Pack' } as const;

describe('the request for an order', () => {
  it.each<{ what: string; offering: OfferingSpec; size: PlacementRequest['size'] }>([
    {
      what: 'GPUs with cpu and memory',
      offering: { ...defaults, gpu: { model: 'H100', count: 2, memory: '80Gi', nvlink: 'Required' }, cpu: '1500m', memory: '64Gi' },
      size: {
        kind: 'devices',
        gpu: { model: 'H100', memory: 80 * 2 ** 30, nvlink: 'required' },
        count: 2,
        cpu: 1_500,
        memory: 64 * 2 ** 30,
      },
    },
    {
      what: 'GPUs with their share of the node',
      offering: { ...defaults, gpu: { count: 1, migProfile: '1g.10gb' } },
      size: { kind: 'devices', gpu: { migProfile: '1g.10gb' }, count: 1, cpu: 'share', memory: 'share' },
    },
    { what: 'cores only', offering: { ...defaults, cpu: 4 }, size: { kind: 'devices', gpu: {}, count: 0, cpu: 4_000, memory: 'share' } },
    {
      what: 'a fraction',
      offering: { ...defaults, gpu: { model: 'H100' }, fraction: 4 },
      size: { kind: 'fraction', gpu: { model: 'H100' }, parts: 4 },
    },
    {
      what: 'a whole node',
      offering: { ...defaults, gpu: { model: 'H100', count: 8 }, exclusive: true },
      size: { kind: 'node', gpu: { model: 'H100' }, count: 8 },
    },
  ])('has the size of the offering: $what', ({ offering, size }) => {
    expect(requestFor(offering, { nodes: 1 })).toEqual({ nodes: 1, strategy: 'pack', size });
  });

  it('keeps to the nodes of the offering and to the topology of the allocation', () => {
    const offering: OfferingSpec = { ...defaults, cpu: 1, pools: ['a'], nodeSelector: { zone: 'z' }, strategy: 'Spread' };
    expect(requestFor(offering, { nodes: 3, topology: { label: 'rack', strength: 'Preferred' } })).toMatchObject({
      nodes: 3,
      strategy: 'spread',
      pools: ['a'],
      matchLabels: { zone: 'z' },
      topology: { label: 'rack', strength: 'preferred' },
    });
  });
});
