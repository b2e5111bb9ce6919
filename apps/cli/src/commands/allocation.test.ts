import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type GPUNode, gpuNodeKind, newObject, type Offering, offeringKind } from '@capstan/api';
import { computeProduct } from '@capstan/compute';
import { fleet } from '@capstan/fleet';
import { makeNodeNamespace, pretendAgents } from '@capstan/fleet/testing';
import type { JsonObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createAllocation, deleteAllocation, listAllocations, showAllocation } from './allocation.ts';
import { planFor } from './allocation-plan.ts';
import { cleanNode } from './node-clean.ts';
import { showNode } from './node-inventory.ts';
import { loseNode } from './node-lost.ts';
import { cordonNode, drainNode, maintainNode, uncordonNode } from './node-state.ts';
import { createOffering, listOfferings } from './offering.ts';
import { deleteQuota, listQuotas, setQuota, showQuota } from './quota.ts';
import { createReservation, deleteReservation, listReservations, timeIn } from './reservation.ts';

const patiently = { timeout: 20_000, interval: 50 };
let cloud: Cloud;
let admin: string;
let tenant: { readonly kubeconfig: string; readonly namespace: string };
let output: string[];
let agents: AsyncDisposable;
let remains = false;

beforeAll(async () => {
  // Nobody renews a Lease for the node here.
  const cleaning = fleet.controllers.filter(({ name }) => name === 'cleaning');
  const products = [{ ...fleet, controllers: cleaning }, computeProduct({ explainEvery: 30 })];
  cloud = await startCloud({ products, tenants: 1 });
  admin = cloud.server.kubeconfigPath;
  const kubeconfig = join(cloud.server.directory, 'tenant.kubeconfig');
  const text = readFileSync(admin, 'utf8');
  writeFileSync(kubeconfig, text.replaceAll(/(server: "?https:\/\/[^/"\s]+)(\/clusters\/[^"\s]+)?/g, '$1/clusters/root:main:tenant-1'));
  tenant = { kubeconfig, namespace: 'default' };
  const nodes = cloud.platform.resource<GPUNode>(gpuNodeKind);
  await vi.waitFor(() => nodes.list(), patiently);
  await nodes.create(newObject(gpuNodeKind, { metadata: { name: 'n1' }, spec: {} }));
  await makeNodeNamespace(cloud.platform, 'n1');
  agents = pretendAgents(cloud.platform, () =>
    remains
      ? { phase: 'Failed', error: { code: 'NotClean', message: '/data: is still mounted', userFixable: false, retryable: true } }
      : { phase: 'Succeeded' },
  );
  const at = '2026-01-01T00:00:00Z';
  const health = { state: 'Healthy', reason: 'Healthy', message: '', since: at };
  const status = {
    machine: { hostname: 'n1', cpus: 8, memoryBytes: 64 * 2 ** 30, os: '', kernel: '', architecture: 'amd64', agentVersion: '' },
    gpus: ['a', 'b'].map((uuid) => ({ uuid, model: 'H100', memoryBytes: 80 * 2 ** 30, health })),
    conditions: [{ type: 'Ready', status: 'True', reason: 'Heartbeat', message: '', lastTransitionTime: at }],
  };
  await nodes.patch('n1', { type: 'merge', patch: { status } as unknown as JsonObject }, { subresource: 'status' });
}, 90_000);
afterAll(async () => {
  await agents[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
});

beforeEach(() => {
  output = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => output.push(String(line).trim()) > 0);
  return () => void vi.restoreAllMocks();
});

test('an owner offers something, and a tenant orders, lists and releases it', async () => {
  await createOffering('two', { kubeconfig: admin, model: 'H100', gpus: 2 });
  await vi.waitFor(async () => {
    output = [];
    await listOfferings(tenant);
    expect(output).toEqual(['NAME   MODEL   GPUS   CPU   MEMORY', 'two    H100    2      -     -']);
  }, patiently);
  output = [];
  await planFor({ kubeconfig: admin, offering: 'two', output: 'wide' });
  expect(output).toEqual(['NODE   GPUS   CPU   MEMORY   DEVICES', 'n1     2      8     64 GiB   a,b']);

  output = [];
  await createAllocation('first', { ...tenant, offering: 'two', watch: true });
  expect(output.at(-1)).toBe('first: Active, on n1 (2 GPUs)');
  await createAllocation('second', { ...tenant, offering: 'two' });
  const message = expect.stringMatching(/^needs 2 H100 on one node; /);
  await vi.waitFor(async () => {
    output = [];
    await showAllocation('second', { ...tenant, output: 'json' });
    expect(JSON.parse(output.join(''))).toMatchObject({
      status: { phase: 'Pending', message },
    });
  }, patiently);
  output = [];
  await planFor({ kubeconfig: admin, offering: 'two' });
  expect(output).toEqual([expect.stringMatching(/^It would wait: needs 2 H100 on one node; .*\.$/)]);

  output = [];
  await listAllocations({ ...tenant, output: 'wide' });
  expect(output[0]).toMatch(/^NAME +OFFERING +NODES +PHASE +ON +MESSAGE +PRIORITY +DEVICES$/);
  expect(output[1]).toMatch(/^first +two +1 +Active +n1 \(2 GPUs\) +- +0 +a,b$/);

  output = [];
  await deleteAllocation('first', { ...tenant, watch: true });
  expect(output).toEqual(['first: its devices are being released', 'first: Releasing', 'first: released and deleted']);
  await deleteAllocation('second', { ...tenant, watch: true });
});

test('says where allocations are if the workspace has none, or not this one', async () => {
  await expect(createAllocation('a', { kubeconfig: admin, namespace: 'default', offering: 'two' })).rejects.toThrow(
    /go to a project or your home/,
  );
  await expect(showAllocation('none', tenant)).rejects.toThrow('there is no allocation none here; "capstan allocation list" lists all.');
});

test('an owner takes a node out of service and back', async () => {
  const flags = { kubeconfig: admin };
  const spec = async () => (await cloud.platform.resource<GPUNode>(gpuNodeKind).get('n1')).spec;
  await cordonNode('n1', flags);
  expect(await spec()).toMatchObject({ unschedulable: true });
  await maintainNode('n1', flags);
  expect(await spec()).toMatchObject({ maintenance: true });
  await uncordonNode('n1', flags);
  expect(await spec()).toMatchObject({ unschedulable: false, maintenance: false });
  const offering = newObject(offeringKind, { metadata: { name: 'one' }, spec: { gpu: { model: 'H100', count: 1 } } }) as Offering;
  await cloud.platform.resource<Offering>(offeringKind).create(offering);
  await createAllocation('staying', { ...tenant, offering: 'one', watch: true });
  output = [];
  const draining = drainNode('n1', { ...flags, wait: true });
  await vi.waitFor(() => expect(output[1]).toMatch(/^Still booked on n1: default\/staying in /), patiently);
  await deleteAllocation('staying', tenant);
  await draining;
  expect(output.at(-1)).toBe('Nothing is booked on n1.');
  await expect(cordonNode('n2', flags)).rejects.toThrow('there is no node n2; "capstan node list" lists all.');
});

test('an owner sees what remains on a node, and cleans it again or declares it clean', async () => {
  const flags = { kubeconfig: admin };
  await uncordonNode('n1', flags);
  remains = true;
  const shown = async (): Promise<string> => {
    output = [];
    await showNode('n1', flags);
    return output.join('\n');
  };
  for (const force of [false, true]) {
    await createAllocation('messy', { ...tenant, offering: 'one', watch: true });
    await deleteAllocation('messy', { ...tenant, watch: true });
    await vi.waitFor(
      async () =>
        expect(await shown()).toMatch(/Clean: +no: after default\/messy in root:main:tenant-1 \(1 GPU\): \/data: is still mounted/),
      patiently,
    );
    output = [];
    if (!force) remains = false;
    await cleanNode('n1', { ...flags, force });
    expect(output).toEqual([
      force
        ? 'The node n1 is declared clean after 1 former allocation. Its devices are given to others.'
        : 'The node n1 is cleaned again after 1 former allocation. Next: capstan node show n1',
    ]);
    await vi.waitFor(async () => expect(await shown()).not.toContain('Clean'), patiently);
    remains = true;
  }
  output = [];
  await cleanNode('n1', flags);
  expect(output).toEqual(['The node n1 is clean.']);
});

test('an owner limits a workspace, the tenant sees it, and a plan says what an order would use', async () => {
  const flags = { kubeconfig: admin };
  const workspace = 'root:main:tenant-1';
  await setQuota('root:main', { ...flags, model: ['H100=1'], allocations: 5 });
  await setQuota('homes', { ...flags, gpus: 2 });
  output = [];
  await planFor({ ...flags, offering: 'one', workspace });
  expect(output.slice(2)).toEqual([
    '',
    'LIMIT OF    USED            WITH THIS ORDER   LIMIT',
    'root:main   0 H100          1 H100            1 H100',
    'root:main   0 allocations   1 allocation      5 allocations',
  ]);
  await createAllocation('counted', { ...tenant, offering: 'one', watch: true });
  await createAllocation('waiting', { ...tenant, offering: 'one' });
  const sentence = 'the limit of root:main is 1 H100; 1 H100 is in use, and 1 H100 was asked for';
  await vi.waitFor(async () => {
    output = [];
    await listAllocations(tenant);
    expect(output.join('\n')).toContain(sentence);
  }, patiently);
  output = [];
  await planFor({ kubeconfig: tenant.kubeconfig, offering: 'one' });
  expect(output).toEqual([`It would wait: ${sentence}.`]);
  const table = ['WORKSPACE   USED           LIMIT', 'root:main   1 H100         1 H100', 'root:main   1 allocation   5 allocations'];
  for (const show of [() => showQuota(undefined, { kubeconfig: tenant.kubeconfig }), () => showQuota(workspace, flags)]) {
    await vi.waitFor(async () => {
      output = [];
      await show();
      expect(output).toEqual(table);
    }, patiently);
  }
  output = [];
  await listQuotas(flags);
  expect(output.at(-1)).toMatch(/^every home +0 GPUs +2 GPUs$/);
  await setQuota('root:main', { ...flags, model: ['H100=2'] });
  await vi.waitFor(async () => {
    output = [];
    await showAllocation('waiting', { ...tenant, output: 'json' });
    expect(JSON.parse(output.join(''))).toMatchObject({ status: { phase: 'Active' } });
  }, patiently);
  for (const name of ['root:main', 'homes']) await deleteQuota(name, flags);
  await expect(deleteQuota('homes', flags)).rejects.toThrow('"capstan quota list" lists all');
  await expect(setQuota('a b', flags)).rejects.toThrow('expected the path of a workspace');
  await expect(setQuota('root:main', flags)).rejects.toThrow(/spec\.limits: .*must limit something/);
  await expect(setQuota('root:main', { ...flags, model: ['H100'] })).rejects.toThrow(
    '--model: expected a model and a number such as H100=8',
  );
});

test('an owner reserves a node for a workspace', async () => {
  const flags = { kubeconfig: admin };
  await createReservation('demo', { ...flags, workspace: 'root:other', node: ['n1=1'], until: '36h' });
  expect(output.join('\n')).toMatch(/NODES: +n1 \(1 GPU\)/);
  output = [];
  await listReservations(flags);
  expect(output[1]).toMatch(/^demo +root:other +n1 \(1 GPU\) +- +\d{4}-/);
  await deleteReservation('demo', flags);
  await expect(deleteReservation('demo', flags)).rejects.toThrow('there is no reservation demo');
  expect(timeIn('--until', '90m', 0)).toBe('1970-01-01T01:30:00Z');
  expect(() => timeIn('--until', 'soon', 0)).toThrow('--until: expected a time');
});

test('an owner declares a node lost only if it is silent and its machine is off', async () => {
  const nodes = cloud.platform.resource<GPUNode>(gpuNodeKind);
  const flags = { kubeconfig: admin };
  await expect(loseNode('n2', flags)).rejects.toThrow('there is no node n2');
  await expect(loseNode('n1', { ...flags, confirm: 'n1' })).rejects.toThrow('the agent of n1 is heard of, so the node is not lost');
  const silent = { type: 'Ready', status: 'Unknown', reason: 'Silent', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  await nodes.patch('n1', { type: 'merge', patch: { status: { conditions: [silent] } } }, { subresource: 'status' });
  await expect(loseNode('n1', flags)).rejects.toThrow('switch the machine n1 off first');
  expect((await nodes.get('n1')).spec?.lost).toBeUndefined();
  await loseNode('n1', { ...flags, confirm: 'n1' });
  expect((await nodes.get('n1')).spec?.lost).toBe(true);
  await loseNode('n1', { ...flags, off: true });
  expect((await nodes.get('n1')).spec?.lost).toBeUndefined();
});
