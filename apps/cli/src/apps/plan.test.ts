import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Allocation, type AppInstance, allocationKind, appInstanceKind, appPreviewAnnotation, newObject } from '@capstan/api';
import { appsProduct } from '@capstan/apps';
import { pair } from '@capstan/apps/testing';
import { computeProduct } from '@capstan/compute';
import { PretendFleet } from '@capstan/compute/testing';
import { fleet } from '@capstan/fleet';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { deployApp } from './deploy.ts';

const patiently = { timeout: 60_000, interval: 50 };
let cloud: Cloud;
let tenant: { readonly kubeconfig: string; readonly namespace: string };

beforeAll(async () => {
  cloud = await startCloud({
    products: [{ ...fleet, controllers: [] }, computeProduct({ explainEvery: 30 }), appsProduct({ adapters: [pair] })],
    tenants: 1,
  });
  const kubeconfig = join(cloud.server.directory, 'tenant.kubeconfig');
  const text = readFileSync(cloud.server.kubeconfigPath, 'utf8');
  writeFileSync(kubeconfig, text.replaceAll(/(server: "?https:\/\/[^/"\s]+)(\/clusters\/[^"\s]+)?/g, '$1/clusters/root:main:tenant-1'));
  tenant = { kubeconfig, namespace: 'default' };
  await new PretendFleet(cloud.platform).makePool('metal', { nodes: 1, exclusive: true });
  const allocations = cloud.tenants[0]!.client.resource<Allocation>(allocationKind).in('default');
  await allocations.create(
    newObject(allocationKind, { metadata: { name: 'a', namespace: 'default' }, spec: { offering: 'metal' } }) as Allocation,
  );
  await vi.waitFor(async () => expect((await allocations.get('a')).status?.phase).toBe('Active'), patiently);
}, 90_000);
afterAll(() => cloud?.[Symbol.asyncDispose]());

test('a plan of an instance that does not exist needs only a preview, which the platform would delete too', async () => {
  const lines: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line).trim()) > 0);
  const instances = cloud.tenants[0]!.client.resource<AppInstance>(appInstanceKind).in('default');
  const { metadata } = await instances.list();
  // The platform sees a moment later than this test that the allocation can be used.
  await vi.waitFor(async () => {
    const code = await deployApp('mine', { ...tenant, app: 'pair', placement: ['leader_allocation_id=a'], plan: true });
    expect([code, lines.some((line) => line.includes('Say hello'))], lines.join('\n')).toEqual([0, true]);
  }, patiently);
  vi.restoreAllMocks();
  const seen: AppInstance[] = [];
  for await (const { type, object } of instances.watch({ resourceVersion: metadata.resourceVersion ?? '' })) {
    if (type === 'BOOKMARK') continue;
    seen.push(object as AppInstance);
    if (type === 'DELETED') break;
  }
  for (const one of seen) {
    expect(one.metadata.annotations?.[appPreviewAnnotation]).toBe('true');
    expect(one.metadata.finalizers ?? []).toEqual([]);
    expect(one.metadata.name).toMatch(/^preview-/);
  }
  expect((await instances.list()).items).toEqual([]);
}, 90_000);
