import { type Attack, asking, connections, type Request } from './means.ts';
import { unitSpec } from './rest-api.ts';
import type { World } from './world.ts';

const unitsIn = ({ attacker }: World): string => `/clusters/${attacker.cluster}/api/v1/gpu-units`;

const create = (world: World, index: number): Request => ({
  method: 'POST',
  path: unitsIn(world),
  headers: { 'idempotency-key': `hostile-${index}` },
  body: JSON.stringify({ name: `hostile-${index}`, ...unitSpec }),
});

/** Attacks on products, most of them through the REST API. */
export const throughRest: readonly (readonly [string, Attack])[] = [
  [
    'allocations, 32 connections',
    asking(32, ({ attacker }) => ({
      method: 'POST',
      path: `/clusters/${attacker.cluster}/apis/compute.capstan.dev/v1alpha1/namespaces/default/allocations`,
      body: JSON.stringify({
        apiVersion: 'compute.capstan.dev/v1alpha1',
        kind: 'Allocation',
        metadata: { generateName: 'hostile-' },
        spec: { offering: 'none', nodes: 1024 },
      }),
    })),
  ],
  ['lists through the REST API, 64 connections', asking(64, (world) => ({ method: 'GET', path: `${unitsIn(world)}?limit=500` }), 'rest')],
  ['creates through the REST API, 64 connections', asking(64, create, 'rest')],
  [
    'streams of the REST API that are not read, 200 connections',
    connections(
      () => 200,
      (world) => ({ method: 'GET', path: `${unitsIn(world)}?watch=true` }),
      'rest',
    ),
  ],
];
