import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

test('rejects duplicate zones and invalid nodes in the hints of a slice', () => {
  const hints = { forZones: [{ name: 'z' }, { name: 'z' }], forNodes: [{ name: '' }] };
  const slice: KubeObject = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 's' },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], hints }],
  };
  const found = workloadStrategies.get('discovery.k8s.io/endpointslices')!.validate!(slice, contextOf());
  expect(found.map(({ field, body }) => `${field}: ${body.slice(0, 24)}`)).toEqual([
    'endpoints[0].hints.forZones[1].name: Duplicate value: "z"',
    'endpoints[0].hints.forNodes[0].name: Invalid value: "": a low',
  ]);
});
