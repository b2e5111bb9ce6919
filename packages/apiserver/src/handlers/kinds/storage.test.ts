import { contextOf, workloadStrategies } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

const nodeOf = (drivers: object[]): KubeObject => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSINode',
  metadata: { name: 'n' },
  spec: { drivers },
});

it('does not allow changing a driver of a CSINode', () => {
  const { validateUpdate } = workloadStrategies.get('storage.k8s.io/csinodes')!;
  const before = nodeOf([{ name: 'd', nodeID: 'n', topologyKeys: null }]);
  expect(validateUpdate!(nodeOf([{ name: 'e', nodeID: 'm' }]), before, contextOf())).toEqual([]);
  const errors = validateUpdate!(nodeOf([{ name: 'd', nodeID: 'm', allocatable: { count: 1 } }]), before, contextOf());
  expect(errors.map(({ field, body }) => `${field}: ${body}`)).toEqual([
    'spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,"Allocatable":{"Count":1}}: field is immutable',
  ]);
});

it('rejects duplicate addresses of a node', () => {
  const { status } = workloadStrategies.get('/nodes')!;
  const address = { type: 'InternalIP', address: '10.0.0.1' };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { addresses: [address, address] } };
  expect(status!.validate!(node, contextOf()).map(({ field, body }) => `${field}: ${body}`)).toEqual([
    'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}',
  ]);
});

it('does not allow changing the external id of a node', () => {
  const { validateUpdate } = workloadStrategies.get('/nodes')!;
  const node = (externalID: string): KubeObject => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { externalID } });
  expect(validateUpdate!(node('a'), node('a'), contextOf())).toEqual([]);
  expect(validateUpdate!(node('b'), node('a'), contextOf()).map(({ field, body }) => `${field}: ${body}`)).toEqual([
    'spec.externalID: Forbidden: may not be updated',
  ]);
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const headers = { 'content-type': 'application/merge-patch+json' };

it('starts the generation of a CSI driver at the first change', async () => {
  const path = '/apis/storage.k8s.io/v1/csidrivers';
  const made = await server.call(path, { method: 'POST', body: { metadata: { name: 'd' }, spec: {} } });
  expect(made.json().metadata.generation).toBeUndefined();
  const changed = await server.call(`${path}/d`, { method: 'PATCH', headers, body: { spec: { podInfoOnMount: true } } });
  expect(changed.json().metadata.generation).toBe(1);
});

it('accepts the status of a service CIDR with the object itself', async () => {
  const path = '/apis/networking.k8s.io/v1/servicecidrs';
  const made = await server.call(path, { method: 'POST', body: { metadata: { name: 'r' }, spec: { cidrs: ['10.20.0.0/16'] } } });
  expect(made.json()['status']).toEqual({});
  const conditions = [{ type: 'Ready', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  const changed = await server.call(`${path}/r`, { method: 'PATCH', headers, body: { status: { conditions } } });
  expect(changed.json()['status']).toEqual({ conditions });
});

it('a priority class stays at generation 1', async () => {
  const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
  await server.call(classes, { method: 'POST', body: { metadata: { name: 'p' }, value: 1 } });
  const changed = await server.call(`${classes}/p`, { method: 'PATCH', headers, body: { description: 'x' } });
  expect(changed.json()).toMatchObject({ description: 'x', metadata: { generation: 1 } });
});
