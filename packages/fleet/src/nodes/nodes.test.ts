import { type GPUNode, gpuNodeKind, type NodeBooking, newObject, nodeBookingKind, nodeNamespace } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { fleetProduct } from '../product.ts';
import { leaseKind } from './controller.ts';

const patiently = { timeout: 20_000, interval: 30 };
const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud({ products: [fleetProduct({ silentAfter: 1_500 })], tenants: 1 });
  await vi.waitFor(() => nodes().list(), patiently);
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

const nodes = () => cloud.platform.resource<GPUNode>(gpuNodeKind);
const bookings = () => cloud.platform.resource<NodeBooking>(nodeBookingKind);
const leases = (node: string) => cloud.platform.resource(leaseKind).in(nodeNamespace(node));
const conditionOf = async (node: string, wanted: string) =>
  (await nodes().get(node)).status?.conditions?.find(({ type }) => type === wanted);
const ready = (node: string, expected: object) =>
  vi.waitFor(async () => expect(await conditionOf(node, 'Ready')).toMatchObject(expected), patiently);

async function makeNode(name: string): Promise<void> {
  await nodes().create(newObject(gpuNodeKind, { metadata: { name }, spec: {} }));
  await cloud.platform.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: nodeNamespace(name) } });
}

const renewed = () => ({ spec: { renewTime: new Date().toISOString().replace('Z', '000Z') } });

test('nodes are ready while their Lease is renewed, and unknown after silence, which changes nothing else', async () => {
  await makeNode('beating');
  await ready('beating', { status: 'Unknown', reason: 'Silent', message: 'the agent has never connected' });
  const booking = {
    allocation: { cluster: 'c', namespace: 'default', name: 'a', uid: 'u' },
    attempt: 'one',
    state: 'Granted',
    devices: [],
    cpu: 1,
    memory: 1,
  };
  const spec = { entries: [booking] } as unknown as NodeBooking['spec'];
  await bookings().create(newObject(nodeBookingKind, { metadata: { name: 'beating' }, spec }));
  const health = { type: 'GPUsHealthy', status: 'True', reason: 'Healthy', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const own = {
    apiVersion: 'fleet.capstan.dev/v1alpha1',
    kind: 'GPUNode',
    metadata: { name: 'beating' },
    status: { conditions: [health] },
  };
  await nodes().apply(own, { fieldManager: 'agent', subresource: 'status' });
  await leases('beating').create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'beating' }, ...renewed() });
  await ready('beating', { status: 'True', reason: 'Heartbeat' });
  await ready('beating', { status: 'Unknown', message: 'nothing was heard of the agent for 1.5 s' });
  expect((await bookings().get('beating')).spec).toEqual(spec);
  expect(await conditionOf('beating', 'GPUsHealthy')).toEqual(health);
  await leases('beating').patch('beating', { type: 'merge', patch: renewed() });
  await ready('beating', { status: 'True' });
});

test('nodes stay until no allocation has something on them', async () => {
  await makeNode('booked');
  await ready('booked', { status: 'Unknown' });
  const allocation = { cluster: 'c', namespace: 'default', name: 'training', uid: 'u' };
  const entry = { allocation, attempt: 'one', state: 'Granted', devices: [], cpu: 1, memory: 1 };
  const spec = { entries: [entry] } as unknown as NodeBooking['spec'];
  await bookings().create(newObject(nodeBookingKind, { metadata: { name: 'booked' }, spec }));
  await nodes().delete('booked');
  const message = 'an allocation has devices on the node: default/training in c';
  await vi.waitFor(
    async () => expect(await conditionOf('booked', 'Removable')).toMatchObject({ status: 'False', reason: 'Booked', message }),
    patiently,
  );
  // Nobody gets the devices of a machine that has left, so nobody has to clean them.
  const given = [{ ...entry, state: 'Cleaning' }] as unknown as JsonObject[];
  await bookings().patch('booked', { type: 'merge', patch: { spec: { entries: given } } });
  await vi.waitFor(async () => {
    expect(await ignoring(nodes().get('booked'), isNotFound)).toBeUndefined();
    expect(await ignoring(bookings().get('booked'), isNotFound)).toBeUndefined();
  }, patiently);
});
