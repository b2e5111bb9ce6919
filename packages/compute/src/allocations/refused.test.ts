import { allocationKind, fleetQuotaKind, type KindDefinition, newObject, nodeReservationKind, offeringKind } from '@capstan/api';
import type { Client } from '@capstan/client';
import { fleet } from '@capstan/fleet';
import type { KubeObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { computeProduct } from '../product.ts';

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud({
    products: [
      { ...fleet, controllers: [] },
      { ...computeProduct(), controllers: [] },
    ],
  });
  const kinds = [offeringKind, fleetQuotaKind, nodeReservationKind];
  await vi.waitFor(() => Promise.all(kinds.map((kind) => cloud.platform.resource(kind).list())), { timeout: 20_000, interval: 30 });
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

async function refusal(client: Client, kind: KindDefinition, spec: object): Promise<string> {
  const metadata = { name: 'refused', ...(kind.namespaced && { namespace: 'default' }) };
  const object = newObject(kind, { metadata, spec } as never) as KubeObject;
  return client
    .resource(kind)
    .in(kind.namespaced ? 'default' : undefined)
    .create(object)
    .then(
      () => 'accepted',
      (error: Error) => error.message,
    );
}

describe('a specification that makes no sense is refused, and the field is named', () => {
  test.each([
    { spec: {}, field: 'spec.offering' },
    { spec: { offering: 'Not A Name' }, field: 'spec.offering' },
    { spec: { offering: 'a', nodes: 0 }, field: 'spec.nodes' },
    { spec: { offering: 'a', nodes: 1.5 }, field: 'spec.nodes' },
    { spec: { offering: 'a', nodes: 2000 }, field: 'spec.nodes' },
    { spec: { offering: 'a', priority: 5000 }, field: 'spec.priority' },
    { spec: { offering: 'a', topology: { label: 'rack', strength: 'Perhaps' } }, field: 'spec.topology.strength' },
    { spec: { offering: 'a', topology: { strength: 'Required' } }, field: 'spec.topology.label' },
    { spec: { offering: 'a', topology: { label: 'not a label!', strength: 'Required' } }, field: 'spec.topology.label' },
  ])('Allocation $spec', async ({ spec, field }) => {
    expect(await refusal(cloud.tenants[0]!.client, allocationKind, spec)).toContain(`${field}:`);
  });

  test.each([
    { spec: { gpu: { model: 'H100' } }, field: 'spec' },
    { spec: { gpu: { count: -1 } }, field: 'spec.gpu.count' },
    { spec: { gpu: { count: 1, memory: 'much' } }, field: 'spec.gpu.memory' },
    { spec: { gpu: { count: 1 }, cpu: '-2' }, field: 'spec.cpu' },
    { spec: { gpu: { count: 1 }, memory: -1 }, field: 'spec.memory' },
    { spec: { fraction: 2, exclusive: true }, field: 'spec.fraction' },
    { spec: { exclusive: true, cpu: '1' }, field: 'spec.exclusive' },
    { spec: { gpu: { count: 1, nvlink: 'yes' } }, field: 'spec.gpu.nvlink' },
  ])('Offering $spec', async ({ spec, field }) => {
    expect(await refusal(cloud.platform, offeringKind, spec)).toContain(`${field}:`);
  });

  const limits = { gpus: 1 };
  test.each([
    { spec: { limits }, field: 'spec.workspace' },
    { spec: { workspace: 'root:a', homes: true, limits }, field: 'spec.workspace' },
    { spec: { workspace: 'Root A', limits }, field: 'spec.workspace' },
    { spec: { workspace: 'root:a', limits: {} }, field: 'spec.limits' },
    { spec: { workspace: 'root:a', limits: { gpus: -1 } }, field: 'spec.limits.gpus' },
    { spec: { workspace: 'root:a', limits: { models: { H100: 'x' } } }, field: 'spec.limits.models' },
    { spec: { workspace: 'root:a', limits: { cpu: '-1' } }, field: 'spec.limits.cpu' },
    { spec: { workspace: 'root:a', limits: { gpuMemory: 'much' } }, field: 'spec.limits.gpuMemory' },
  ])('FleetQuota $spec', async ({ spec, field }) => {
    expect(await refusal(cloud.platform, fleetQuotaKind, spec)).toContain(field);
  });

  const until = '2031-05-06T07:08:09Z';
  const nodes = [{ node: 'n1' }];
  test.each([
    { spec: { until, nodes }, field: 'spec.workspace' },
    { spec: { workspace: 'root:a', nodes }, field: 'spec.until' },
    { spec: { workspace: 'root:a', until: 'tomorrow', nodes }, field: 'spec.until' },
    { spec: { workspace: 'root:a', until, from: '2032-01-01T00:00:00Z', nodes }, field: 'spec.until' },
    { spec: { workspace: 'root:a', until, nodes: [] }, field: 'spec.nodes' },
    { spec: { workspace: 'root:a', until, nodes: [{ node: 'n1', gpus: 0 }] }, field: 'spec.nodes[0].gpus' },
    { spec: { workspace: 'root:a', until, nodes: [{ node: 'n1', gpus: 1, devices: ['a'] }] }, field: 'spec.nodes[0].gpus' },
  ])('NodeReservation $spec', async ({ spec, field }) => {
    expect(await refusal(cloud.platform, nodeReservationKind, spec)).toContain(field);
  });
});
