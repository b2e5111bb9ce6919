import {
  type FleetQuota,
  fleetQuotaKind,
  type GPUStorage,
  type GPUUnit,
  gpuStorageKind,
  type NodeUnit,
  type NodeVolume,
  type NodeVolumeStatus,
  newObject,
  nodeVolumeKind,
  requestedByAnnotation,
  type UsageReport,
  usagePath,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { fleet as wholeFleet } from '@capstan/fleet';
import type { JsonObject } from '@capstan/machinery';
import type { Product } from '@capstan/platform';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { computeProduct } from '../product.ts';
import { PretendFleet, TenantUnits } from '../units/testing/pretend-fleet.ts';

/** The tests say whether nodes are ready. */
const fleetProduct: Product = { ...wholeFleet, controllers: [] };
const patiently = { timeout: 20_000, interval: 20 };

let cloud: Cloud;
let fleet: PretendFleet;
let tenant: TenantUnits;
let other: TenantUnits;
beforeAll(async () => {
  cloud = await startCloud({ products: [fleetProduct, computeProduct({ explainEvery: 30, askQuotaAgain: 50 })], tenants: 2 });
  fleet = new PretendFleet(cloud.platform);
  [tenant, other] = [new TenantUnits(cloud.tenants[0]!.client), new TenantUnits(cloud.tenants[1]!.client)];
  await vi.waitFor(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list(), volumes().list()]), patiently);
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

const eventually = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, patiently);
const storages = (who = tenant) => who.client.resource<GPUStorage>(gpuStorageKind).in('default');
const volumes = () => cloud.platform.resource<NodeVolume>(nodeVolumeKind);
const create = (name: string, spec: Partial<GPUStorage['spec']> = {}, who = tenant): Promise<GPUStorage> =>
  storages(who).create(
    newObject(gpuStorageKind, { metadata: { name, namespace: 'default' }, spec: { size: '1Gi', ...spec } }) as GPUStorage,
  );
const storageIs = (name: string, expected: object): Promise<GPUStorage> =>
  eventually(async () => {
    const storage = await storages().get(name);
    expect(storage.status).toMatchObject(expected);
    return storage;
  });
const unitIs = (name: string, expected: object, who = tenant): Promise<GPUUnit> =>
  eventually(async () => {
    const unit = await who.units().get(name);
    expect(unit.status).toMatchObject(expected);
    return unit;
  });
const volumesNamed = async (name: string): Promise<NodeVolume[]> =>
  (await volumes().list()).items.filter(({ spec }) => spec.owner.name === name);
const volumeOf = (name: string): Promise<NodeVolume> =>
  eventually(async () => {
    const [found] = await volumesNamed(name);
    expect(found).toBeDefined();
    return found!;
  });
const report = ({ metadata: { name = '', namespace } }: NodeVolume, status: Partial<NodeVolumeStatus>): Promise<NodeVolume> =>
  volumes().patch({ name, namespace }, { type: 'merge', patch: { status } as unknown as JsonObject }, { subresource: 'status' });
const isGone = async (name: string): Promise<boolean> => (await ignoring(storages().get(name), isNotFound)) === undefined;
const started = (unit: GPUUnit, run = 1): Promise<NodeUnit> =>
  eventually(async () => {
    const found = (await fleet.of(unit)).filter(({ spec }) => spec.run >= run);
    expect(found).toHaveLength(1);
    return found[0]!;
  });
const condition = (type: string, status: string, message?: string) => ({
  conditions: expect.arrayContaining([expect.objectContaining({ type, status, ...(message !== undefined && { message }) })]),
});
const mount = (storage: string) => ({ mounts: [{ storage, path: '/data', readOnly: false }] });
const ready = { phase: 'Ready' as const, capacityBytes: 1000, usedBytes: 10, enforced: true };

describe('a storage', () => {
  test('goes to the node of the first unit, which waits for it, and the next unit follows', async () => {
    await fleet.makePool('first', { nodes: 3 });
    const storage = await create('data');
    await storageIs('data', { phase: 'Pending', message: 'waits for the first unit that mounts it' });
    const unit = await tenant.create('one', { offering: 'first', ...mount('data') });
    const volume = await volumeOf('data');
    expect(volume.metadata.name).toBe(storage.metadata.uid);
    const requester = storage.metadata.annotations?.[requestedByAnnotation];
    expect([requester, volume.metadata.annotations?.[requestedByAnnotation]]).toEqual([expect.any(String), requester]);
    expect(volume.spec).toMatchObject({ size: 2 ** 30, owner: { namespace: 'default', name: 'data', uid: storage.metadata.uid } });
    const node = volume.metadata.namespace!.slice('node-'.length);
    await unitIs('one', { phase: 'Pending', message: `waits for the storage data: is being created on ${node}` });
    expect(await fleet.of(unit)).toEqual([]);
    await report(volume, ready);
    await storageIs('data', { phase: 'Ready', node, capacityBytes: 1000, usedBytes: 10, ...condition('SizeEnforced', 'True') });
    const nodeUnit = await started(unit);
    expect(nodeUnit.metadata.namespace).toBe(`node-${node}`);
    expect(nodeUnit.spec.storages).toEqual([{ storage: 'data', uid: storage.metadata.uid }]);
    await unitIs('one', condition('StoragesReady', 'True'));
    await storageIs('data', { mountedBy: ['one'], ...condition('InUse', 'True', 'mounted by one') });
    for (const name of ['two', 'three']) {
      const next = await tenant.create(name, { offering: 'first', ...mount('data') });
      expect((await started(next)).metadata.namespace).toBe(`node-${node}`);
    }
    expect((await tenant.allocationsOf(await tenant.units().get('two')))[0]!.spec.node).toBe(node);
  });

  test('outlives its units', async () => {
    await fleet.makePool('outlived');
    await create('lasting', { node: 'outlived-0' });
    const volume = await volumeOf('lasting');
    await report(volume, ready);
    const unit = await tenant.create('mortal', { offering: 'outlived', ...mount('lasting') });
    await fleet.report(await started(unit), { phase: 'Ended', exitCode: 0, reason: 'Completed' });
    await unitIs('mortal', { phase: 'Succeeded' });
    await tenant.units().delete('mortal');
    await eventually(async () => expect(await tenant.isGone('mortal')).toBe(true));
    expect((await volumeOf('lasting')).spec).toMatchObject({ deleted: false, retained: false });
    await storageIs('lasting', { phase: 'Ready' });
    await eventually(async () => {
      const { total } = await tenant.client.json<UsageReport>({ method: 'GET', path: usagePath });
      expect(total.storageGibSeconds).toBeGreaterThan(0);
    });
  });

  test('that a unit mounts is deleted after the unit has ended', async () => {
    await fleet.makePool('busy');
    await create('used', { node: 'busy-0' });
    const volume = await volumeOf('used');
    await report(volume, ready);
    const unit = await tenant.create('user', { offering: 'busy', ...mount('used') });
    const nodeUnit = await started(unit);
    await storageIs('used', { mountedBy: ['user'] });
    await storages().delete('used');
    await storageIs('used', { phase: 'Deleting', message: 'is deleted when no unit mounts it: user', ...condition('InUse', 'True') });
    expect((await volumeOf('used')).spec.deleted).toBe(false);
    const late = await tenant.create('late', { offering: 'busy', ...mount('used') });
    await unitIs('late', { phase: 'Pending', message: 'the storage used is being deleted' });
    expect(await fleet.of(late)).toEqual([]);
    await fleet.report(nodeUnit, { phase: 'Ended', exitCode: 0, reason: 'Completed' });
    await eventually(async () => expect((await volumeOf('used')).spec.deleted).toBe(true));
    await storageIs('used', { phase: 'Deleting', message: 'its files are being deleted on busy-0' });
    await report(volume, { phase: 'Deleted' });
    await eventually(async () => expect(await isGone('used')).toBe(true));
    expect(await volumesNamed('used')).toEqual([]);
  });

  test('on a silent node is deleted at once, and its volume later', async () => {
    await fleet.makePool('silent');
    await create('quiet', { node: 'silent-0' });
    const volume = await volumeOf('quiet');
    await report(volume, ready);
    await storageIs('quiet', { phase: 'Ready' });
    await fleet.ready('silent-0', 'Unknown');
    await storageIs('quiet', condition('NodeReachable', 'False'));
    await storages().delete('quiet');
    await eventually(async () => expect(await isGone('quiet')).toBe(true));
    expect((await volumeOf('quiet')).spec.deleted).toBe(true);
    await fleet.ready('silent-0', 'True');
    await report(volume, { phase: 'Deleted' });
    await eventually(async () => expect(await volumesNamed('quiet')).toEqual([]));
  });

  test('that was deleted by force leaves nothing', async () => {
    await fleet.makePool('forced');
    await create('forced', { node: 'forced-0' });
    const volume = await volumeOf('forced');
    await report(volume, ready);
    await storageIs('forced', { phase: 'Ready' });
    await fleet.ready('forced-0', 'Unknown');
    await storages().delete('forced');
    await eventually(async () => {
      await ignoring(storages().patch('forced', { type: 'merge', patch: { metadata: { finalizers: null } } }), isNotFound);
      expect(await isGone('forced')).toBe(true);
    });
    await eventually(async () => expect((await volumeOf('forced')).spec.deleted).toBe(true));
  });

  test('that was retained is found again by its name', async () => {
    await fleet.makePool('retained', { nodes: 2 });
    const first = await create('precious', { node: 'retained-1', deletionPolicy: 'Retain' });
    await report(await volumeOf('precious'), ready);
    await storageIs('precious', { phase: 'Ready' });
    await storages().delete('precious');
    await eventually(async () => expect(await isGone('precious')).toBe(true));
    expect((await volumeOf('precious')).spec).toMatchObject({ retained: true, deleted: false });
    await create('precious', { node: 'retained-0' }, other);
    await eventually(async () => expect((await storages(other).get('precious')).status).toMatchObject({ node: 'retained-0' }));
    const second = await create('precious', { size: '2Gi' });
    await storageIs('precious', { phase: 'Ready', node: 'retained-1', volume: first.metadata.uid });
    await eventually(async () => {
      const found = (await volumesNamed('precious')).find(({ metadata }) => metadata.name === first.metadata.uid);
      expect(found?.spec).toMatchObject({ retained: false, size: 2 * 2 ** 30, owner: { uid: second.metadata.uid } });
    });
  });

  test('grows, says why it failed, and is tried again', async () => {
    await fleet.makePool('growing');
    await create('growing', { node: 'growing-0' });
    const volume = await volumeOf('growing');
    await report(volume, { phase: 'Failed', reason: 'DownloadFailed', message: 'it cannot be reached', recoverable: true });
    await storageIs('growing', { phase: 'Failed', message: 'it cannot be reached', recoverable: true });
    const unit = await tenant.create('patient', { offering: 'growing', ...mount('growing') });
    await unitIs('patient', { phase: 'Pending', message: 'waits for the storage growing: it cannot be reached' });
    expect(await tenant.allocationsOf(unit)).toEqual([]);
    await storages().patch('growing', { type: 'merge', patch: { spec: { recover: 1, size: '3Gi' } } });
    await eventually(async () => expect((await volumeOf('growing')).spec).toMatchObject({ recover: 1, size: 3 * 2 ** 30 }));
    await report(volume, { ...ready, reason: null, message: null, recoverable: null } as never);
    await started(unit);
  });

  test('is a copy on the node of the other', async () => {
    await fleet.makePool('copies', { nodes: 2 });
    await create('copy', { prepare: { storage: { name: 'original' } } });
    await storageIs('copy', { message: 'spec.prepare.storage: there is no GPUStorage original in this namespace' });
    const original = await create('original', { node: 'copies-1' });
    const volume = await volumeOf('copy');
    expect(volume.metadata.namespace).toBe('node-copies-1');
    expect(volume.spec.prepare).toEqual({ storage: original.metadata.uid });
  });

  test('has snapshots, which units only read', async () => {
    await fleet.makePool('frozen');
    const source = await create('moving', { node: 'frozen-0' });
    await report(await volumeOf('moving'), ready);
    await create('still', { snapshotOf: { name: 'moving' } });
    const volume = await volumeOf('still');
    expect(volume.spec.snapshotOf).toBe(source.metadata.uid);
    await report(volume, { ...ready, takenAt: '2026-01-02T03:04:05Z' });
    await storageIs('still', { phase: 'Ready', node: 'frozen-0', takenAt: '2026-01-02T03:04:05Z' });
    await tenant.create('writer', { offering: 'frozen', ...mount('still') });
    await unitIs('writer', { phase: 'Pending', message: 'spec.mounts: still is a snapshot, so it is mounted with readOnly' });
    const reader = await tenant.create('reader', { offering: 'frozen', mounts: [{ storage: 'still', path: '/data', readOnly: true }] });
    expect((await started(reader)).spec.storages).toEqual([{ storage: 'still', uid: volume.metadata.name }]);
    await storages().delete('moving');
    await report(await volumeOf('moving'), { phase: 'Deleted' });
    await eventually(async () => expect(await isGone('moving')).toBe(true));
    await storageIs('still', { phase: 'Ready' });
  });

  test('of a node that does not exist, or of an unknown class, waits', async () => {
    await create('nowhere', { node: 'nowhere' });
    await storageIs('nowhere', { phase: 'Pending', message: 'spec.node: there is no node nowhere' });
    await create('odd', { class: 'odd' });
    await storageIs('odd', { phase: 'Pending', message: 'spec.class: there is no class odd; the classes are local' });
    for (const name of ['nowhere', 'odd']) {
      await storages().delete(name);
      await eventually(async () => expect(await isGone(name)).toBe(true));
    }
  });

  test('waits while it would exceed a limit, and so does its growth', async () => {
    await fleet.makePool('limited');
    const quotas = cloud.platform.resource<FleetQuota>(fleetQuotaKind);
    const limit = (storage: string) => ({ workspace: 'root:main:tenant-2', limits: { storage } });
    await quotas.create(newObject(fleetQuotaKind, { metadata: { name: 'limited' }, spec: limit('11Gi') }) as FleetQuota);
    const state = (name: string, expected: object) =>
      eventually(async () => expect((await storages(other).get(name)).status).toMatchObject(expected));
    // Beside the gibibyte of an earlier test.
    await create('fits', { size: '8Gi', node: 'limited-0' }, other);
    const volume = await volumeOf('fits');
    expect(volume.spec.owner.path).toBe('root:main:tenant-2');
    await report(volume, ready);
    await state('fits', { phase: 'Ready', ...condition('WithinQuota', 'True') });
    const refused = (asked: number) =>
      `the limit of root:main:tenant-2 is 11 GiB of storage; 9 GiB of storage are in use, and ${asked} GiB of storage were asked for`;
    await create('large', { size: '4Gi' }, other);
    await state('large', { phase: 'Pending', message: refused(4), ...condition('WithinQuota', 'False', refused(4)) });
    const unit = await other.create('patient', { offering: 'limited', ...mount('large') });
    await unitIs('patient', { phase: 'Pending', message: `waits for the storage large: ${refused(4)}` }, other);
    expect(await other.allocationsOf(unit)).toEqual([]);
    await storages(other).patch('fits', { type: 'merge', patch: { spec: { size: '12Gi' } } });
    const grown = 'the limit of root:main:tenant-2 is 11 GiB of storage; 1 GiB of storage is in use, and 12 GiB of storage were asked for';
    await state('fits', { phase: 'Ready', message: grown, ...condition('WithinQuota', 'False', grown) });
    expect((await volumeOf('fits')).spec.size).toBe(8 * 2 ** 30);
    await quotas.patch('limited', { type: 'merge', patch: { spec: limit('20Gi') } });
    await eventually(async () => expect((await volumeOf('fits')).spec.size).toBe(12 * 2 ** 30));
    await report(await volumeOf('large'), ready);
    await started(unit);
    await state('large', { phase: 'Ready', ...condition('WithinQuota', 'True') });
    await quotas.delete('limited');
  });

  test('whose node was lost says so', async () => {
    await fleet.makePool('lost');
    await create('gone', { node: 'lost-0' });
    await report(await volumeOf('gone'), ready);
    await fleet.ready('lost-0', 'Unknown');
    await fleet.nodes().patch('lost-0', { type: 'merge', patch: { spec: { lost: true } } });
    await storageIs('gone', { phase: 'Failed', message: 'node lost-0 was lost, and its files with it' });
    await storages().delete('gone');
    await eventually(async () => expect(await isGone('gone')).toBe(true));
    expect(await volumesNamed('gone')).toEqual([]);
  });
});

describe('units and storages', () => {
  test('of another workspace never meet', async () => {
    await fleet.makePool('apart');
    await create('private', { node: 'apart-0' });
    await report(await volumeOf('private'), ready);
    await storageIs('private', { phase: 'Ready' });
    const thief = await other.create('thief', { offering: 'apart', ...mount('private') });
    await unitIs('thief', { phase: 'Pending', message: 'spec.mounts: there is no GPUStorage private in this namespace' }, other);
    expect(await fleet.of(thief)).toEqual([]);
    await create('private', {}, other);
    await eventually(async () => expect(await volumesNamed('private')).toHaveLength(2));
    for (const one of await volumesNamed('private')) await report(one, ready);
    const nodeUnit = await started(thief);
    expect(nodeUnit.spec.storages).toEqual([{ storage: 'private', uid: (await storages(other).get('private')).metadata.uid }]);
  });

  test('on different nodes are refused', async () => {
    await fleet.makePool('split', { nodes: 2 });
    for (const index of [0, 1]) {
      await create(`split-${index}`, { node: `split-${index}` });
      await report(await volumeOf(`split-${index}`), ready);
    }
    const mounts = [0, 1].map((index) => ({ storage: `split-${index}`, path: `/${index}-data`, readOnly: false }));
    await tenant.create('split', { offering: 'split', mounts });
    await unitIs('split', { phase: 'Pending', message: 'spec.mounts: the storage split-0 is on split-0, and split-1 is on split-1' });
    await tenant.create('wide', { offering: 'split', nodes: 2, ...mount('split-0') });
    await unitIs('wide', {
      phase: 'Pending',
      message:
        'spec.mounts: the storage split-0 is on one node, so units with several nodes cannot mount it; storages in shared directories can be',
    });
  });

  test('in a shared directory meet on every node that has it', async () => {
    await fleet.makePool('shared', { nodes: 4, gpus: 1 });
    const directories = (id: string) => ({ status: { sharedDirectories: [{ name: 'scratch', id }] } });
    const declare = (node: string, id: string) =>
      fleet.nodes().patch(node, { type: 'merge', patch: directories(id) }, { subresource: 'status' });
    await create('everywhere', { class: 'scratch' });
    await storageIs('everywhere', { phase: 'Pending', message: 'spec.class: there is no class scratch; the classes are local' });
    await declare('shared-1', 'x');
    await declare('shared-3', 'x');
    const volume = await volumeOf('everywhere');
    await declare('shared-2', 'another');
    expect([volume.metadata.namespace, volume.spec.directory]).toEqual(['node-shared-1', { name: 'scratch', id: 'x' }]);
    await report(volume, { ...ready, enforced: false, message: 'the size is not enforced: it is a test' });
    await storageIs('everywhere', {
      phase: 'Ready',
      directory: 'x',
      ...condition('SizeEnforced', 'False', 'the size is not enforced: it is a test'),
    });
    const unit = await tenant.create('gang', { offering: 'shared', nodes: 2, ...mount('everywhere') });
    const members = await eventually(async () => {
      const found = await fleet.of(unit);
      expect(found).toHaveLength(2);
      return found;
    });
    expect(new Set(members.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['node-shared-1', 'node-shared-3']));
    const attached = [{ storage: 'everywhere', uid: volume.metadata.name, directory: { name: 'scratch', id: 'x' } }];
    for (const { spec } of members) expect(spec.storages).toEqual(attached);
    await create('frozen', { snapshotOf: { name: 'everywhere' } });
    await storageIs('frozen', {
      message: 'spec.snapshotOf: everywhere is in a shared directory, and only storages of the class local can be copied',
    });
  });

  test('that come first at the same time end up on the same node', async () => {
    await fleet.makePool('race', { nodes: 2, gpus: 1 });
    const units = await Promise.all(['race-a', 'race-b'].map((name) => tenant.create(name, { offering: 'race', ...mount('contended') })));
    await create('contended');
    const volume = await volumeOf('contended');
    await report(volume, ready);
    const first = await eventually(async () => {
      const all = (await Promise.all(units.map((unit) => fleet.of(unit)))).flat();
      expect(all).toHaveLength(1);
      return all[0]!;
    });
    expect(first.metadata.namespace).toBe(volume.metadata.namespace);
    const waiting = units.find(({ metadata }) => metadata.uid !== first.spec.owner.uid)!;
    const node = volume.metadata.namespace!.slice('node-'.length);
    await eventually(async () => {
      const [allocation] = await tenant.allocationsOf(waiting);
      expect(allocation?.spec.node).toBe(node);
    });
    await fleet.report(first, { phase: 'Ended', exitCode: 0, reason: 'Completed' });
  });
});

describe('the kind', () => {
  test.each([
    [{ size: '1Mi' }, 'spec.size: Invalid value', 'must be between 16Mi and 1Pi'],
    [{ size: '2Pi' }, 'spec.size', 'must be between 16Mi and 1Pi'],
    [{ prepare: {} }, 'spec.prepare', 'must have exactly one of storage, snapshot, url and image'],
    [{ prepare: { image: 'an image' } }, 'spec.prepare.image', 'should match'],
    [{ prepare: { storage: { name: 'a' } }, snapshotOf: { name: 'b' } }, 'spec.prepare', 'must not be set for a snapshot'],
    [{ prepare: { url: { url: 'file:///etc/passwd', sha256: 'a'.repeat(64) } } }, 'spec.prepare.url.url', 'should match'],
    [{ prepare: { url: { url: 'http://user:secret@example.com/', sha256: 'a'.repeat(64) } } }, 'spec.prepare.url.url', 'should match'],
    [{ prepare: { url: { url: 'http://example.com/' } } }, 'spec.prepare.url.sha256', 'Required'],
  ])('refuses %j', async (spec, field, words) => {
    const failure = await create('refused', spec as never).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(failure).toContain(field);
    expect(failure).toContain(words);
  });

  test('refuses changes of what cannot change', async () => {
    await create('fixed', { size: '64Mi' });
    const refused = (spec: JsonObject) =>
      storages()
        .patch('fixed', { type: 'merge', patch: { spec } })
        .then(
          () => '',
          (error: Error) => error.message,
        );
    expect(await refused({ size: '32Mi' })).toContain('spec.size: Invalid value');
    expect(await refused({ size: '32Mi' })).toContain('must not become smaller');
    expect(await refused({ node: 'x' })).toContain('spec.node');
    expect(await refused({ class: 'x' })).toContain('spec.class');
    expect(await refused({ snapshotOf: { name: 'x' } })).toContain('spec.snapshotOf');
    expect(await refused({ prepare: { storage: { name: 'x' } } })).toContain('spec.prepare');
    expect(await refused({ size: '65536Ki', recover: 3 })).toBe('');
  });
});
