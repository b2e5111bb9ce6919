import type { GPUNode, GPUStorage, GPUUnit, NodeVolume } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { unitWith } from '../units/testing/unit.ts';
import { decide, storageFinalizer } from './decide.ts';
import type { Scene } from './scene.ts';

type Given = Partial<Omit<Scene, 'storage'>> & { readonly spec?: object; readonly status?: object; readonly metadata?: object };

function sceneOf({ spec = {}, status = {}, metadata = {}, ...rest }: Given): Scene {
  const storage = {
    metadata: { name: 'data', namespace: 'default', uid: 'u', generation: 1, finalizers: [storageFinalizer], ...metadata },
    spec: { size: '1Gi', class: 'local', deletionPolicy: 'Delete', recover: 0, ...spec },
    status,
  } as unknown as GPUStorage;
  return {
    storage,
    now: 0,
    units: [],
    allocation: () => undefined,
    volumes: [],
    node: () => nodeThat('True'),
    path: 'root:tenant',
    refusal: () => undefined,
    sharing: () => [],
    sibling: () => undefined,
    isAbsent: false,
    ...rest,
  };
}

const nodeThat = (ready: string): GPUNode =>
  ({
    metadata: { name: 'n1' },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: '' }] },
  }) as unknown as GPUNode;
const volume = (spec: object = {}, phase = 'Ready'): NodeVolume =>
  ({
    metadata: { name: 'u', namespace: 'node-n1' },
    spec: { owner: { uid: 'u' }, size: 2 ** 30, recover: 0, retained: false, deleted: false, ...spec },
    status: { phase },
  }) as unknown as NodeVolume;
const bound = { node: 'n1', volume: 'u' };
const running = unitWith({}, {
  status: { phase: 'Running', run: 1, members: [{ rank: 0, node: 'n1', phase: 'Running' }] },
} as Partial<GPUUnit>);
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('the next step for a storage', () => {
  test('is a finalizer before its node is written, and its node before its volume', () => {
    expect(decide(sceneOf({ spec: { node: 'n1' }, metadata: { finalizers: [] } }))).toEqual({ kind: 'protect' });
    expect(decide(sceneOf({ spec: { node: 'n1' } }))).toMatchObject({ kind: 'status', status: bound });
    expect(decide(sceneOf({ status: bound }))).toEqual({ kind: 'look', ...bound });
    expect(decide(sceneOf({ status: bound, isAbsent: true }))).toMatchObject({ kind: 'create', volume: { metadata: { name: 'u' } } });
  });

  test('is never an empty volume in place of a copy whose source has disappeared', () => {
    const step = decide(sceneOf({ spec: { prepare: { storage: { name: 'gone' } } }, status: bound, isAbsent: true }));
    expect(step).toMatchObject({
      kind: 'status',
      status: { ...bound, phase: 'Pending', message: 'spec.prepare.storage: there is no GPUStorage gone in this namespace' },
    });
  });

  test.each([
    [{ snapshotOf: { name: 'source' } }, {}, { snapshotOf: 's' }],
    [{ prepare: { snapshot: { name: 'source' } } }, { snapshotOf: { name: 'other' } }, { prepare: { storage: 's' } }],
    [{ prepare: { storage: { name: 'source' } } }, { snapshotOf: { name: 'other' } }, { prepare: { storage: 's' } }],
    [{ snapshotOf: { name: 'source' } }, { snapshotOf: { name: 'other' } }, 'spec.snapshotOf: source is a snapshot itself'],
    [{ prepare: { snapshot: { name: 'source' } } }, {}, 'spec.prepare.snapshot: source is not a snapshot'],
  ])('for a storage with %j of one with %j is %j', (spec, sourceSpec, expected) => {
    const source = sceneOf({ spec: sourceSpec, status: { node: 'n1', volume: 's' } }).storage;
    const given = { spec, sibling: (name: string) => (name === 'source' ? source : undefined) };
    const step = decide(sceneOf({ ...given, status: bound, isAbsent: true }));
    if (typeof expected === 'string') {
      expect(step).toMatchObject({ kind: 'status', status: { message: expected } });
      expect(decide(sceneOf(given))).toMatchObject({ kind: 'status', status: { phase: 'Pending', message: expected } });
    } else {
      expect(step).toMatchObject({ kind: 'create', volume: { metadata: { namespace: 'node-n1' }, spec: expected } });
      expect(decide(sceneOf(given))).toMatchObject({ kind: 'status', status: { node: 'n1', volume: 'u' } });
    }
  });

  test('puts a shared storage where most nodes agree on the directory, and changes its keeper when that was lost', () => {
    const sharing = () => [
      { name: 'scratch', id: 'odd', node: 'a' },
      { name: 'scratch', id: 'right', node: 'b' },
      { name: 'scratch', id: 'right', node: 'c' },
    ];
    const spec = { class: 'scratch' };
    expect(decide(sceneOf({ spec, sharing }))).toMatchObject({ kind: 'status', status: { node: 'b', volume: 'u', directory: 'right' } });
    expect(decide(sceneOf({ spec: { ...spec, node: 'a' }, sharing }))).toMatchObject({ status: { node: 'a', directory: 'odd' } });
    const status = { node: 'b', volume: 'u', directory: 'right', phase: 'Pending' };
    expect(decide(sceneOf({ spec, sharing, status, isAbsent: true }))).toMatchObject({
      kind: 'create',
      volume: { metadata: { namespace: 'node-b' }, spec: { directory: { name: 'scratch', id: 'right' } } },
    });
    const lost = { spec, sharing: () => sharing().slice(2), status, node: (name: string) => (name === 'b' ? undefined : nodeThat('True')) };
    const moved = { kind: 'status', status: { node: 'c', volume: 'u', directory: 'right' } };
    expect(decide(sceneOf({ ...lost, volumes: [volume()] }))).toMatchObject(moved);
    expect(decide(sceneOf({ ...lost, metadata: deleting }))).toMatchObject(moved);
    // The next keeper gets the volume, and then deletes it.
    const next = { ...lost, status: { ...status, node: 'c' }, metadata: deleting, isAbsent: true };
    expect(decide(sceneOf(next))).toMatchObject({ kind: 'create', volume: { metadata: { namespace: 'node-c' } } });
    const created = { ...volume(), metadata: { name: 'u', namespace: 'node-c' } };
    expect(decide(sceneOf({ ...next, volumes: [volume(), created] }))).toMatchObject({
      kind: 'change',
      volume: created,
      spec: { deleted: true },
    });
    expect(decide(sceneOf({ ...lost, sharing: () => [{ name: 'scratch', id: 'odd', node: 'a' }] }))).not.toMatchObject(moved);
  });

  test('is to create a volume with the files of an image, but of nothing else beside it', () => {
    const image = 'example.com/files:1';
    const step = decide(sceneOf({ spec: { prepare: { image } }, status: bound, isAbsent: true }));
    expect(step).toMatchObject({ kind: 'create', volume: { spec: { prepare: { image } } } });
    const both = decide(sceneOf({ spec: { node: 'n1', prepare: { image, url: { url: 'http://example.com', sha256: '' } } } }));
    expect(both).toMatchObject({ kind: 'status', status: { message: 'spec.prepare: an image must be the only source of files' } });
  });

  test('is nothing for a volume that is larger than the storage that took it over', () => {
    const step = decide(sceneOf({ status: bound, volumes: [volume({ size: 2 ** 40 })] }));
    expect(step.kind).toBe('status');
  });

  test('lets a storage of a silent node go after its volume was marked', () => {
    const given = { status: bound, metadata: deleting, node: () => nodeThat('Unknown') };
    expect(decide(sceneOf({ ...given, volumes: [volume()] }))).toMatchObject({ kind: 'change', spec: { deleted: true } });
    expect(decide(sceneOf({ ...given, volumes: [volume({ deleted: true })] }))).toEqual({ kind: 'letGo' });
  });

  test('never deletes anything while a unit mounts it, nor a volume that its node still has', () => {
    const scene = fc.record({
      isUsed: fc.boolean(),
      isDeleting: fc.boolean(),
      ready: fc.constantFrom('True', 'Unknown', 'False'),
      phase: fc.constantFrom('Pending', 'Preparing', 'Ready', 'Resizing', 'Failed', 'Deleted'),
      spec: fc.record({ deleted: fc.boolean(), retained: fc.boolean() }),
      hasVolume: fc.boolean(),
      policy: fc.constantFrom('Delete', 'Retain'),
      isAbsent: fc.boolean(),
    });
    fc.assert(
      fc.property(scene, ({ isUsed, isDeleting, ready, phase, spec, hasVolume, policy, isAbsent }) => {
        const step = decide(
          sceneOf({
            spec: { deletionPolicy: policy },
            status: bound,
            metadata: isDeleting ? deleting : {},
            units: isUsed ? [running] : [],
            volumes: hasVolume ? [volume(spec, phase)] : [],
            node: () => nodeThat(ready),
            isAbsent,
          }),
        );
        if (step.kind === 'change' && step.spec['deleted'] === true) expect([isUsed, isDeleting, policy]).toEqual([false, true, 'Delete']);
        if (step.kind === 'remove') expect([isUsed, isDeleting, phase]).toEqual([false, true, 'Deleted']);
        if (step.kind === 'letGo') expect([isUsed, isDeleting]).toEqual([false, true]);
      }),
    );
  });
});
