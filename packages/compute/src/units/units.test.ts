import { type GPUUnit, type NodeUnit, requestedByAnnotation, unitLabel, unitNodesAnnotation } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { fleet as wholeFleet } from '@capstan/fleet';
import type { Product } from '@capstan/platform';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { computeProduct } from '../product.ts';
import { PretendFleet, TenantUnits } from './testing/pretend-fleet.ts';

/** The tests say whether nodes are ready. */
const fleetProduct: Product = { ...wholeFleet, controllers: [] };
const patiently = { timeout: 20_000, interval: 20 };

let cloud: Cloud;
let fleet: PretendFleet;
let tenant: TenantUnits;
beforeAll(async () => {
  cloud = await startCloud({ products: [fleetProduct, computeProduct({ explainEvery: 30 })], tenants: 2 });
  fleet = new PretendFleet(cloud.platform);
  tenant = new TenantUnits(cloud.tenants[0]!.client);
  await vi.waitFor(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list()]), patiently);
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

const podKind = { group: '', version: 'v1', resource: 'pods', namespaced: true };
const pods = () => tenant.client.resource(podKind).in('default');
const eventually = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, patiently);
const unitIs = (name: string, expected: object): Promise<GPUUnit> =>
  eventually(async () => {
    const unit = await tenant.units().get(name);
    expect(unit.status).toMatchObject(expected);
    return unit;
  });
const started = (unit: GPUUnit, count = 1, run = 1): Promise<NodeUnit[]> =>
  eventually(async () => {
    const found = (await fleet.of(unit)).filter(({ spec }) => spec.run === run);
    expect(found).toHaveLength(count);
    return found;
  });
const running = { phase: 'Running' as const, startedAt: '2026-01-01T00:00:01Z', ready: true, address: '10.244.0.7', pid: 7 };
const ended = (exitCode: number) => ({
  phase: 'Ended' as const,
  exitCode,
  reason: exitCode === 0 ? ('Completed' as const) : ('Error' as const),
  startedAt: '2026-01-01T00:00:01Z',
  finishedAt: '2026-01-01T00:00:09Z',
  ready: false,
});
const released = (unit: GPUUnit) =>
  eventually(async () => {
    expect(await tenant.allocationsOf(unit)).toEqual([]);
    expect(await fleet.of(unit)).toEqual([]);
  });

describe('a unit', () => {
  test('gets an allocation and a NodeUnit, runs, completes, and leaves nothing behind', async () => {
    await fleet.makePool('plain', { gpus: 2 });
    const unit = await tenant.create('plain', {
      offering: 'plain',
      command: ['python3', 'train.py'],
      ports: [{ name: 'http', port: 8888 }],
      access: { port: 'http', scheme: 'http' },
    });
    const [nodeUnit] = await started(unit);
    const [allocation] = await tenant.allocationsOf(unit);
    expect(nodeUnit!.metadata).toMatchObject({ name: `${unit.metadata.uid}-1`, namespace: 'node-plain-0' });
    const requester = unit.metadata.annotations![requestedByAnnotation];
    expect(requester).toEqual(expect.any(String));
    for (const { metadata } of [nodeUnit!, allocation!]) expect(metadata.annotations?.[requestedByAnnotation]).toBe(requester);
    expect(nodeUnit!.spec).toMatchObject({
      owner: { namespace: 'default', name: 'plain', uid: unit.metadata.uid },
      run: 1,
      allocation: allocation!.metadata.uid,
      devices: allocation!.status!.parts![0]!.devices,
      cpu: 2000,
      memory: 4 * 2 ** 30,
      exclusive: false,
      command: ['python3', 'train.py'],
      stopped: false,
      secrets: false,
    });
    expect(nodeUnit!.spec).not.toHaveProperty('fenceAfter');
    await fleet.report(nodeUnit!, running);
    const shown = await unitIs('plain', {
      phase: 'Running',
      run: 1,
      message: 'runs on plain-0',
      access: 'capstan port-forward plain 8888',
      startedAt: running.startedAt,
      members: [{ rank: 0, node: 'plain-0', phase: 'Running', address: '10.244.0.7' }],
    });
    expect(shown.status!.conditions!.map(({ type, status }) => `${type} ${status}`)).toEqual(
      expect.arrayContaining(['Allocated True', 'Configured True', 'Started True', 'Ready True', 'NodeReachable True']),
    );
    await fleet.report(nodeUnit!, ended(0));
    await unitIs('plain', { phase: 'Succeeded', exitCode: 0, message: 'completed', finishedAt: '2026-01-01T00:00:09Z' });
    await released(unit);
  });

  test('says whether its node separates it from others', async () => {
    await fleet.makePool('open');
    const drivers = (isolation: string, message?: string) =>
      fleet
        .nodes()
        .patch(
          'open-0',
          { type: 'merge', patch: { status: { unitDrivers: [{ name: 'exec', isolation, ...(message !== undefined && { message }) }] } } },
          { subresource: 'status' },
        );
    await drivers('none', 'the agent is not root');
    const unit = await tenant.create('open', { offering: 'open' });
    await started(unit);
    const isolated = (expected: object) =>
      unitIs('open', { conditions: expect.arrayContaining([expect.objectContaining({ type: 'Isolated', ...expected })]) });
    await isolated({ status: 'False', message: 'on open-0, the program is not separated from others: the agent is not root' });
    await drivers('full');
    await isolated({ status: 'True' });
  });

  test('that fails says how, and releases its allocation', async () => {
    await fleet.makePool('failing');
    const unit = await tenant.create('failing', { offering: 'failing' });
    const [nodeUnit] = await started(unit);
    await fleet.report(nodeUnit!, { ...ended(3), lastLines: ['no such file'] });
    const { status } = await unitIs('failing', { phase: 'Failed', exitCode: 3, message: 'the program ended: exit code 3' });
    expect(status!.members![0]!.lastLines).toEqual(['no such file']);
    await released(unit);
  });

  test('whose program never started does not say that it ended', async () => {
    await fleet.makePool('unable');
    const [nodeUnit] = await started(await tenant.create('unable', { offering: 'unable' }));
    await fleet.report(nodeUnit!, { phase: 'Ended', reason: 'DriverUnavailable', message: 'there is no engine' });
    await unitIs('unable', { phase: 'Failed', message: 'the program did not start: there is no engine' });
  });

  test('is stopped and started again by its owner, with the next number', async () => {
    await fleet.makePool('stopping');
    const unit = await tenant.create('stopping', { offering: 'stopping' });
    const [nodeUnit] = await started(unit);
    await fleet.report(nodeUnit!, running);
    await unitIs('stopping', { phase: 'Running' });
    await tenant.change('stopping', { running: false });
    await unitIs('stopping', { phase: 'Stopping' });
    await eventually(async () => expect((await fleet.of(unit))[0]!.spec).toMatchObject({ stopped: true, stopReason: 'Stopped' }));
    expect(await tenant.allocationsOf(unit)).toHaveLength(1);
    await fleet.report(nodeUnit!, { ...ended(143), reason: 'Stopped' });
    await unitIs('stopping', { phase: 'Stopped', message: 'stopped' });
    await released(unit);
    await tenant.change('stopping', { running: true });
    const [second] = await started(unit, 1, 2);
    expect(second!.metadata.name).toBe(`${unit.metadata.uid}-2`);
    expect(second!.spec.allocation).not.toBe(nodeUnit!.spec.allocation);
  });

  test('is deleted after its program has ended', async () => {
    await fleet.makePool('deleting');
    const unit = await tenant.create('deleting', { offering: 'deleting' });
    const [nodeUnit] = await started(unit);
    await fleet.report(nodeUnit!, running);
    await eventually(() => pods().get('deleting'));
    await tenant.units().delete('deleting');
    await eventually(async () => expect((await fleet.of(unit))[0]!.spec.stopped).toBe(true));
    expect(await tenant.isGone('deleting')).toBe(false);
    await fleet.report(nodeUnit!, { ...ended(143), reason: 'Stopped' });
    await eventually(async () => expect(await tenant.isGone('deleting')).toBe(true));
    await released(unit);
    expect(await ignoring(pods().get('deleting'), isNotFound)).toBeUndefined();
  });

  test('on several nodes has a container on each in its Pod, and waits for files on each', async () => {
    await fleet.makePool('wide', { nodes: 2, gpus: 1 });
    const unit = await tenant.create('wide', { offering: 'wide', nodes: 2, upload: true });
    const nodeUnits = await started(unit, 2);
    for (const nodeUnit of nodeUnits) await fleet.report(nodeUnit, { phase: 'Waiting', reason: 'UploadMissing' });
    await eventually(async () =>
      expect(await pods().get('wide')).toMatchObject({
        metadata: { annotations: { [unitNodesAnnotation]: expect.stringMatching(/^wide-\d,wide-\d$/) } },
        spec: { initContainers: [{ name: 'upload' }, { name: 'upload-1' }], containers: [{ name: 'unit' }, { name: 'unit-1' }] },
        status: {
          initContainerStatuses: [{ state: { running: {} } }, { state: { running: {} } }],
          containerStatuses: [{ name: 'unit' }, { name: 'unit-1' }],
        },
      }),
    );
  });

  test('is shown as a Pod with its name', async () => {
    await fleet.makePool('shown');
    const unit = await tenant.create('shown', { offering: 'shown', image: 'pytorch:2', upload: true });
    const [nodeUnit] = await started(unit);
    await fleet.report(nodeUnit!, { phase: 'Waiting', reason: 'UploadMissing' });
    await eventually(async () =>
      expect(await pods().get('shown')).toMatchObject({
        metadata: { labels: { [unitLabel]: 'shown' }, ownerReferences: [{ kind: 'GPUUnit', uid: unit.metadata.uid }] },
        spec: {
          nodeName: 'shown-0',
          initContainers: [{ name: 'upload' }],
          containers: [{ name: 'unit', image: 'pytorch:2', resources: { limits: { cpu: '2', memory: '4Gi', 'capstan.dev/gpu': '1' } } }],
        },
        status: {
          phase: 'Pending',
          hostIP: '10.0.0.1',
          initContainerStatuses: [{ name: 'upload', state: { running: {} } }],
          containerStatuses: [{ name: 'unit', state: { waiting: {} } }],
        },
      }),
    );
    await fleet.report(nodeUnit!, { ...running, reason: null as never, restarts: 2 });
    await eventually(async () =>
      expect((await pods().get('shown'))['status']).toMatchObject({
        phase: 'Running',
        podIP: '10.244.0.7',
        initContainerStatuses: [{ state: { terminated: { reason: 'Completed' } } }],
        containerStatuses: [{ ready: true, restartCount: 2, state: { running: { startedAt: '2026-01-01T00:00:01Z' } } }],
        conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status: 'True' })]),
      }),
    );
    await fleet.report(nodeUnit!, { ...ended(137), reason: 'OutOfMemory' });
    await eventually(async () =>
      expect((await pods().get('shown'))['status']).toMatchObject({
        phase: 'Failed',
        containerStatuses: [{ ready: false, state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }],
      }),
    );
  });
});
