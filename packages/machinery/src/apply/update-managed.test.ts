import { describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject, ManagedFieldsEntry } from '../json.ts';
import { builtinTypes } from '../schema/table.ts';
import type { ObjectType } from '../schema/type.ts';
import { cloneJson } from './shape.ts';
import { asObject, later, now, object, widget, widgetOf } from './test-types.ts';
import { type ManagedUpdate, updateManaged, updateManagedInParts } from './update-managed.ts';

const configMap = builtinTypes().object('io.k8s.api.core.v1.ConfigMap')!;

const configMapOf = (data: Record<string, string>, metadata: JsonObject = {}): KubeObject =>
  asObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', ...metadata }, data });

const copy = (value: KubeObject): KubeObject => asObject(cloneJson(value as unknown as JsonObject));

function write(live: KubeObject | undefined, updated: KubeObject, more: Partial<ManagedUpdate> = {}): KubeObject {
  return updateManaged({ live, updated: copy(updated), type: configMap, manager: 'one', apiVersion: 'v1', subresource: '', now, ...more });
}

const shown = (value: KubeObject): unknown =>
  value.metadata.managedFields?.map(({ manager, operation, time, fieldsV1 }) => ({ manager, operation, time, fieldsV1 }));

const entry = (more: Partial<ManagedFieldsEntry>): ManagedFieldsEntry => ({
  manager: 'x',
  operation: 'Update',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: {},
  ...more,
});

describe('creating', () => {
  it('owns everything except the fields that the server sets or that name the object', () => {
    const created = write(
      undefined,
      configMapOf({ b: '2', a: '1' }, { uid: 'u', resourceVersion: '1', creationTimestamp: 't', namespace: 'n', labels: { x: '1' } }),
    );
    expect(created.metadata.managedFields).toEqual([
      {
        manager: 'one',
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-02T03:04:05Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} }, 'f:metadata': { 'f:labels': { '.': {}, 'f:x': {} } } },
      },
    ]);
    expect(Object.keys(created.metadata.managedFields![0]!.fieldsV1!['f:data']!)).toEqual(['.', 'f:a', 'f:b']);
  });

  it('does not own the structs that Go always has, but owns those of a custom resource', () => {
    const deployment = builtinTypes().object('io.k8s.api.apps.v1.Deployment')!;
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', resources: {}, ports: [{ containerPort: 80, protocol: 'TCP' }] }], securityContext: {} },
    };
    const created = write(
      undefined,
      asObject({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: {}, spec: { template }, status: {} }),
      { type: deployment, resetFields: [['status']] },
    );
    const ports = { '.': {}, 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} } };
    expect(created.metadata.managedFields![0]!.fieldsV1).toEqual({
      'f:spec': {
        'f:template': {
          'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } },
          'f:spec': {
            'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:name': {}, 'f:ports': ports, 'f:resources': {} } },
            'f:securityContext': {},
          },
        },
      },
    });
    expect(write(undefined, asObject(widgetOf({ name: 'x' })), { type: widget }).metadata.managedFields![0]!.fieldsV1).toEqual({
      'f:spec': { '.': {}, 'f:name': {} },
    });
  });

  it('adds no entry if there is nothing to own', () => {
    expect(write(undefined, asObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })).metadata).not.toHaveProperty(
      'managedFields',
    );
  });

  it('names a manager without a name "unknown"', () => {
    expect(write(undefined, configMapOf({ a: '1' }), { manager: '' }).metadata.managedFields![0]!.manager).toBe('unknown');
  });

  it('stores an object whose items cannot be told apart without managed fields', () => {
    expect(write(undefined, asObject(widgetOf({ parts: [null] })), { type: widget }).metadata).not.toHaveProperty('managedFields');
  });
});

describe('updating', () => {
  const first = write(undefined, configMapOf({ a: '1' }, { labels: { x: '1' }, uid: 'u' }), { manager: 'maker' });

  it('moves changed fields from their owners to the updater', () => {
    const second = write(first, configMapOf({ a: '1', b: '2' }, { uid: 'u' }), { manager: 'other', now: later });
    expect(shown(second)).toEqual([
      { manager: 'maker', operation: 'Update', time: '2026-01-02T03:04:05Z', fieldsV1: { 'f:data': { '.': {}, 'f:a': {} } } },
      { manager: 'other', operation: 'Update', time: '2026-01-02T03:04:09Z', fieldsV1: { 'f:data': { 'f:b': {} } } },
    ]);
  });

  it("adds to the manager's fields", () => {
    const second = write(first, configMapOf({ a: '1', b: '2' }, { labels: { x: '1' }, uid: 'u' }), { manager: 'maker', now: later });
    expect(shown(second)).toEqual([
      {
        manager: 'maker',
        operation: 'Update',
        time: '2026-01-02T03:04:09Z',
        fieldsV1: { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} }, 'f:metadata': { 'f:labels': { '.': {}, 'f:x': {} } } },
      },
    ]);
  });

  it('keeps the times if nothing changed', () => {
    expect(shown(write(first, first, { manager: 'maker', now: later }))).toEqual(shown(first));
    expect(shown(write(first, { ...first, metadata: { ...first.metadata, resourceVersion: '9' } }, { now: later }))).toEqual(shown(first));
  });

  it('clears managed fields if a request sends an empty list or an empty entry', () => {
    for (const managedFields of [[], [{}]]) {
      const reset = write(first, { ...first, metadata: { ...first.metadata, managedFields } });
      expect(reset.metadata).not.toHaveProperty('managedFields');
      expect(write(reset, configMapOf({ a: '5' }, { uid: 'u' })).metadata).not.toHaveProperty('managedFields');
    }
  });

  it('accepts entries from a request, and keeps the stored ones if those are malformed', () => {
    const sent = entry({ manager: 'renamed', fieldsV1: { 'f:data': { 'f:a': {} } } });
    expect(shown(write(first, { ...first, metadata: { ...first.metadata, managedFields: [sent] } }))).toEqual([
      { manager: 'renamed', operation: 'Update', time: undefined, fieldsV1: sent.fieldsV1 },
    ]);
    for (const wrong of [
      { ...sent, operation: 'Sing' },
      { ...sent, apiVersion: '' },
      { ...sent, fieldsType: 'FieldsV2' },
      { ...sent, fieldsV1: { nope: {} } },
    ]) {
      expect(shown(write(first, { ...first, metadata: { ...first.metadata, managedFields: [wrong as ManagedFieldsEntry] } }))).toEqual(
        shown(first),
      );
    }
  });

  it('drops entries from a request that own nothing', () => {
    const live = write(undefined, configMapOf({ a: '1' }));
    const sent = [entry({ fieldsV1: { 'x:y': {} } }), entry({ manager: 'y'.repeat(200) })];
    expect(write(live, configMapOf({ a: '1' }, { managedFields: sent as never })).metadata.managedFields).toBeUndefined();
  });

  it('does not let a subresource change entries by hand', () => {
    const sent = { ...first, metadata: { ...first.metadata, managedFields: [entry({ manager: 'forged' })] } };
    expect(shown(write(first, sent, { subresource: 'status' }))).toEqual(shown(first));
  });

  it('keeps writes through a subresource apart, and never owns fields that it resets', () => {
    const live = write(undefined, asObject(widgetOf({ name: 'x' })), {
      type: widget,
      apiVersion: 'example.com/v1',
      resetFields: [['status']],
    });
    const updated = { ...live, spec: { name: 'y' }, status: { phase: 'Ready' } };
    const result = write(live, updated, {
      type: widget,
      apiVersion: 'example.com/v1',
      subresource: 'status',
      resetFields: [['spec']],
      now: later,
    });
    expect(result.metadata.managedFields!.map(({ subresource, fieldsV1 }) => [subresource, fieldsV1])).toEqual([
      [undefined, { 'f:spec': { '.': {}, 'f:name': {} } }],
      ['status', { 'f:status': { '.': {}, 'f:phase': {} } }],
    ]);
  });

  it('drops entries of versions that are no longer served, and compares others by their own type', () => {
    const old = object({ spec: object({ words: { kind: 'map', values: { kind: 'scalar', scalar: 'string' }, atomic: false } }) });
    const typeFor = (version: string): ObjectType | undefined => (version === 'example.com/v0' ? old : undefined);
    const managedFields = [
      entry({ apiVersion: 'example.com/v0', fieldsV1: { 'f:spec': { 'f:name': {} } } }),
      entry({ apiVersion: 'example.com/gone', fieldsV1: { 'f:spec': { 'f:name': {} } } }),
    ];
    const live = asObject({ ...widgetOf({ name: 'x' }), metadata: { managedFields } as unknown as JsonObject });
    const result = write(live, asObject(widgetOf({ name: 'x', size: 1 })), { type: widget, apiVersion: 'example.com/v1', typeFor });
    expect(result.metadata.managedFields!.map(({ apiVersion }) => apiVersion)).toEqual(['example.com/v0', 'example.com/v1']);
  });

  it('merges the oldest updaters if there are more than ten', () => {
    let live = write(undefined, configMapOf({ k0: '0' }, { uid: 'u' }), { manager: 'm0' });
    for (let index = 1; index <= 11; index++) {
      const data = { ...(live['data'] as Record<string, string>), [`k${index}`]: String(index) };
      live = write(live, configMapOf(data, { uid: 'u' }), { manager: `m${index}`, now: new Date(now.getTime() + index * 1000) });
    }
    const entries = live.metadata.managedFields!;
    expect(entries).toHaveLength(10);
    expect(entries[0]).toMatchObject({
      manager: 'ancient-changes',
      time: '2026-01-02T03:04:07Z',
      fieldsV1: { 'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {} } },
    });
    expect(entries.slice(1).map(({ manager }) => manager)).toEqual(['m3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9', 'm10', 'm11']);
  });
});

it('ignores the entries of a request that sends too many', () => {
  const managedFields = Array.from({ length: 10_000 }, (_, index) =>
    entry({ manager: `m${index}`, fieldsV1: { 'f:data': { [`f:a${index}`]: {} } } }),
  );
  expect(shown(write(undefined, configMapOf({ a: '1' }, { managedFields: managedFields as never })))).toEqual(
    shown(write(undefined, configMapOf({ a: '1' }))),
  );
});

it('handles a large object in many parts', () => {
  const wide = (prefix: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: 15_000 }, (_, index) => [`${prefix}${(index * 7919) % 15_000}`, prefix]));
  const live = write(undefined, configMapOf(wide('a')));
  const updated = copy(configMapOf({ ...wide('a'), ...wide('b') }));
  let parts = 0;
  for (const _ of updateManagedInParts({ live, updated, type: configMap, manager: 'two', apiVersion: 'v1', subresource: '', now })) parts++;
  expect(parts).toBeGreaterThan(100);
  expect(updated.metadata.managedFields).toHaveLength(2);
});
