import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject, KubeObject } from '../json.ts';
import { builtinTypes } from '../schema/table.ts';
import type { ObjectType } from '../schema/type.ts';
import { StatusError } from '../status/status.ts';
import { type ApplyRequest, type ApplyResult, applyInParts, applyPatch } from './apply-patch.ts';
import { cloneJson } from './shape.ts';
import { asObject, later, now, widget, widgetOf } from './test-types.ts';
import { updateManaged } from './update-managed.ts';

const configMap = builtinTypes().object('io.k8s.api.core.v1.ConfigMap')!;
const configMapOf = (data?: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...metadata },
  ...(data && { data }),
});

interface Options extends Partial<ApplyRequest> {
  readonly type?: ObjectType;
}

function apply(manager: string, live: KubeObject | undefined, config: JsonObject, more: Options = {}): ApplyResult {
  const type = more.type ?? (config['kind'] === 'Widget' ? widget : configMap);
  return applyPatch({
    live,
    config,
    type,
    kind: config['kind'] as string,
    manager,
    force: false,
    apiVersion: config['apiVersion'] as string,
    subresource: '',
    now,
    ...more,
  });
}

/** Applies specs one after another, each as its own manager, and returns the last object. */
function applyAll(...steps: [manager: string, spec: JsonObject][]): KubeObject {
  return steps.reduce<KubeObject | undefined>((live, [manager, spec]) => apply(manager, live, widgetOf(spec)).object, undefined)!;
}

function update(live: KubeObject, change: JsonObject, manager = 'updater'): KubeObject {
  const updated = asObject({ ...cloneJson(live as unknown as JsonObject), ...change });
  return updateManaged({
    live,
    updated,
    type: live.kind === 'Widget' ? widget : configMap,
    manager,
    apiVersion: live.apiVersion,
    subresource: '',
    now: later,
  });
}

function errorOf(action: () => unknown): StatusError {
  try {
    action();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error('expected a StatusError, got none');
}

const owners = (object: KubeObject): unknown =>
  Object.fromEntries((object.metadata.managedFields ?? []).map(({ manager, fieldsV1 }) => [manager, fieldsV1]));

describe('applying to a config map', () => {
  it('creates it and owns the applied fields', () => {
    const { object, changed } = apply('one', undefined, configMapOf({ a: '1', b: '2' }));
    expect(changed).toBe(true);
    expect(object['data']).toEqual({ a: '1', b: '2' });
    expect(object.metadata.managedFields).toEqual([
      {
        manager: 'one',
        operation: 'Apply',
        apiVersion: 'v1',
        time: '2026-01-02T03:04:05Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:a': {}, 'f:b': {} } },
      },
    ]);
  });

  it('conflicts with the owner of a value it would change, and takes it over with force', () => {
    const live = apply('one', undefined, configMapOf({ a: '1', b: '2' })).object;
    const { status } = errorOf(() => apply('two', live, configMapOf({ a: '9' })));
    expect(status).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' }] },
    });
    const forced = apply('two', live, configMapOf({ a: '9' }), { force: true }).object;
    expect(forced['data']).toEqual({ a: '9', b: '2' });
    expect(owners(forced)).toEqual({ one: { 'f:data': { 'f:b': {} } }, two: { 'f:data': { 'f:a': {} } } });
  });

  it('lists conflicts by manager, and updaters with their version and subresource', () => {
    const one = apply('one', undefined, configMapOf({ a: '1' }, { uid: 'u' })).object;
    const two = apply('two', one, configMapOf({ a: '1' })).object;
    const live = update(two, { data: { a: '1', b: '1' } }, 'u');
    const withStatus = updateManaged({
      live,
      updated: asObject({ ...cloneJson(live as unknown as JsonObject), data: { a: '1', b: '1', c: '1' } }),
      type: configMap,
      manager: 's',
      apiVersion: 'v1',
      subresource: 'status',
      now: later,
    });
    const error = errorOf(() => apply('three', withStatus, configMapOf({ a: '5', b: '9', c: '2' })));
    expect(error.message).toBe(
      'Apply failed with 4 conflicts: conflicts with "one":\n- .data.a\nconflicts with "s" with subresource "status" using v1:\n- .data.c\nconflicts with "two":\n- .data.a\nconflicts with "u" using v1:\n- .data.b',
    );
    expect(error.status.details!.causes).toHaveLength(4);
  });

  it('removes fields that its manager applied before but no longer applies', () => {
    const first = apply('one', undefined, configMapOf({ a: '1', b: '2' })).object;
    expect(apply('one', first, configMapOf({ b: '2' })).object['data']).toEqual({ b: '2' });
    const shared = apply('two', first, configMapOf({ a: '1' })).object;
    expect(apply('one', shared, configMapOf({})).object['data']).toEqual({ a: '1' });
    const gone = apply('one', first, configMapOf()).object;
    expect(gone).not.toHaveProperty('data');
    expect(gone.metadata).not.toHaveProperty('managedFields');
  });

  it('keeps values that an updater or nobody owns', () => {
    const live = update(apply('one', undefined, configMapOf({ a: '1' }, { uid: 'u' })).object, { data: { a: '1', z: '1' } });
    const { object } = apply('one', live, configMapOf());
    expect(object['data']).toEqual({ z: '1' });
    expect(owners(object)).toEqual({ updater: { 'f:data': { 'f:z': {} } } });
  });

  it('keeps the time if nothing changes, and sets none for a manager that changed nothing', () => {
    const live = apply('one', undefined, configMapOf({ a: '1' })).object;
    const again = apply('one', live, configMapOf({ a: '1' }), { now: later });
    expect(again).toEqual({ object: live, changed: false });
    const joined = apply('two', live, configMapOf({ a: '1' }), { now: later });
    expect(joined.changed).toBe(true);
    expect(joined.object.metadata.managedFields!.map(({ manager, time }) => [manager, time])).toEqual([
      ['two', undefined],
      ['one', '2026-01-02T03:04:05Z'],
    ]);
  });

  it('sets no time for a manager that only repeats existing values, despite nulls', () => {
    const node = builtinTypes().object('io.k8s.api.core.v1.Node')!;
    const status = { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: null, lastTransitionTime: null }] };
    const live = asObject({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' }, status });
    const config = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const { object } = apply('one', live, config, { type: node, subresource: 'status' });
    expect(object.metadata.managedFields!.find(({ manager }) => manager === 'one')).not.toHaveProperty('time');
  });

  it('assigns fields from before the first apply to a manager of their own', () => {
    const live = asObject(configMapOf({ a: '1' }, { uid: 'u' }));
    const error = errorOf(() => apply('one', live, configMapOf({ a: '2' })));
    expect(error.message).toBe('Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a');
    expect(owners(apply('one', live, configMapOf({ b: '2' })).object)).toEqual({
      'before-first-apply': { 'f:data': { '.': {}, 'f:a': {} } },
      one: { 'f:data': { 'f:b': {} } },
    });
  });

  it('adds no such manager if there is nothing to own', () => {
    const { object } = apply('one', asObject(configMapOf(undefined, { uid: 'u' })), configMapOf({ a: '1' }));
    expect(Object.keys(owners(object) as object)).toEqual(['one']);
  });

  it('lets kubectl take over the fields of its client-side apply, and keeps that annotation current', () => {
    const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
    const applied = JSON.stringify(configMapOf({ a: '1' }));
    const created = updateManaged({
      live: undefined,
      updated: asObject(configMapOf({ a: '1' }, { uid: 'u', annotations: { [annotation]: applied } })),
      type: configMap,
      manager: 'kubectl-client-side-apply',
      apiVersion: 'v1',
      subresource: '',
      now,
    });
    expect(errorOf(() => apply('other', created, configMapOf({ a: '2' }))).code).toBe(409);
    const { object } = apply('kubectl', created, configMapOf({ a: '2' }));
    expect(object['data']).toEqual({ a: '2' });
    expect(JSON.parse(object.metadata.annotations![annotation]!)).toEqual(configMapOf({ a: '2' }));
    const changed = update(created, { data: { a: '7' } });
    expect(errorOf(() => apply('kubectl', changed, configMapOf({ a: '2' }))).message).toContain('conflict with "updater"');
  });
});

describe('invalid configurations', () => {
  it.each<[JsonObject, number, string]>([
    [{ metadata: { name: 'a' } }, 400, 'invalid object type: /, Kind='],
    [{ ...configMapOf(), kind: 'Secret' }, 400, 'invalid object type: /v1, Kind=Secret'],
    [{ ...configMapOf(), apiVersion: 'apps/v1' }, 400, 'invalid object type: apps/v1, Kind=ConfigMap'],
    [configMapOf({}, { managedFields: [{}] }), 400, 'metadata.managedFields must be nil'],
    [
      { ...configMapOf(), nope: 1 },
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope: field not declared in schema',
    ],
    [
      configMapOf({ a: 1 }),
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}',
    ],
    [
      configMapOf({ a: { b: [1, 'x', true, null, 1.5] } }),
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":[]interface {}{1, "x", true, interface {}(nil), 1.5}}}',
    ],
    [
      { ...configMapOf(), data: [1] },
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data: expected map, got &{[1]}',
    ],
    [
      configMapOf({}, { finalizers: ['a/b', 'a/b'] }),
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries for key [="a/b"]',
    ],
    [
      { ...configMapOf(undefined, { finalizers: 'a' }), immutable: 'yes' },
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): errors:\n  .immutable: expected boolean, got &{yes}\n  .metadata.finalizers: expected list, got &{a}',
    ],
  ])('%j', (config, code, message) => {
    const error = errorOf(() =>
      applyPatch({
        live: undefined,
        config,
        type: configMap,
        kind: 'ConfigMap',
        manager: 'one',
        force: false,
        apiVersion: 'v1',
        subresource: '',
        now,
      }),
    );
    expect([error.code, error.message]).toEqual([code, message]);
  });

  it('rejects a configuration deeper than the stack with 400', () => {
    let free: Json = 1;
    for (let depth = 0; depth < 50_000; depth++) free = { a: free };
    expect(errorOf(() => apply('one', undefined, widgetOf({ free }))).code).toBe(400);
    expect(
      updateManaged({
        live: undefined,
        updated: asObject(widgetOf({ free })),
        type: widget,
        manager: 'one',
        apiVersion: 'example.com/v1',
        subresource: '',
        now,
      }).metadata,
    ).not.toHaveProperty('managedFields');
  });

  it('rejects an object whose stored items cannot be told apart', () => {
    const error = errorOf(() => apply('one', asObject(widgetOf({ parts: [{}] })), widgetOf({ size: 1 })));
    expect([error.code, error.message]).toEqual([500, expect.stringContaining('failed to create typed live object: associative list')]);
  });

  it('names the duplicate item', () => {
    const error = errorOf(() => apply('one', undefined, widgetOf({ parts: [{ name: 'a' }, { name: 'a' }] })));
    expect(error.message).toBe(
      'failed to create typed patch object (/w; example.com/v1, Kind=Widget): .spec.parts: duplicate entries for key [name="a"]',
    );
  });
});

describe('several appliers', () => {
  it('share a keyed list item by item', () => {
    const live = applyAll(['one', { parts: [{ name: 'a', image: 'x' }] }], ['two', { parts: [{ name: 'a', count: 1 }, { name: 'b' }] }]);
    expect(live['spec']).toEqual({ parts: [{ name: 'a', image: 'x', count: 1 }, { name: 'b' }] });
    expect(errorOf(() => apply('two', live, widgetOf({ parts: [{ name: 'a', image: 'y' }] }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.parts[name="a"].image',
    );
    expect(apply('one', live, widgetOf({})).object['spec']).toEqual({ parts: [{ name: 'a', count: 1 }, { name: 'b' }] });
  });

  it('share a set value by value', () => {
    const live = applyAll(['one', { tags: ['a', 'b'] }], ['two', { tags: ['b', 'c'] }]);
    expect(apply('one', live, widgetOf({ tags: ['a'] })).object['spec']).toEqual({ tags: ['a', 'b', 'c'] });
    expect(apply('two', live, widgetOf({})).object['spec']).toEqual({ tags: ['a', 'b'] });
  });

  it('own an atomic list or map as a whole', () => {
    const live = applyAll(['one', { words: ['a'], selector: { x: '1' } }]);
    const error = errorOf(() => apply('two', live, widgetOf({ words: ['b'], selector: { y: '1' } })));
    expect(error.status.details!.causes!.map(({ field }) => field)).toEqual(['.spec.selector', '.spec.words']);
  });

  it('refer to the same port if one omits the default of its key', () => {
    const live = applyAll(['one', { ports: [{ port: 80, protocol: 'TCP', name: 'web' }] }]);
    expect(errorOf(() => apply('two', live, widgetOf({ ports: [{ port: 80, name: 'other' }] }))).message).toContain(
      '.spec.ports[port=80,protocol="TCP"].name',
    );
    expect(apply('two', live, widgetOf({ ports: [{ port: 80, protocol: 'UDP' }] })).object['spec']).toEqual({
      ports: [
        { port: 80, protocol: 'TCP', name: 'web' },
        { port: 80, protocol: 'UDP' },
      ],
    });
  });

  it('descend into maps of unknown shape', () => {
    const live = applyAll(['one', { free: { a: { x: 1 } }, loose: { other: { y: 1 } } }], ['two', { free: { a: { z: 2 } } }]);
    expect(live['spec']).toEqual({ free: { a: { x: 1, z: 2 } }, loose: { other: { y: 1 } } });
    expect(apply('one', live, widgetOf({})).object['spec']).toEqual({ free: { a: { z: 2 } } });
  });

  it('leave null for an emptied container only in fields without a schema', () => {
    const live = applyAll(['one', { free: { a: '1' }, labels: { a: '1' }, loose: { other: { x: '1' } } }]);
    const { object } = apply('one', live, widgetOf({ free: {}, labels: {}, loose: { other: {} } }));
    expect(object['spec']).toEqual({ loose: { other: null } });
  });

  it('keep entries of obsolete versions only while those are served', () => {
    const live = applyAll(['one', { name: 'x' }]);
    live.metadata.managedFields![0]!.apiVersion = 'example.com/v0';
    const gone = apply('two', live, widgetOf({ size: 1 }), { typeFor: () => undefined }).object;
    expect(Object.keys(owners(gone) as object)).toEqual(['two']);
    const served = apply('one', live, widgetOf({ size: 1 }), { typeFor: () => widget }).object;
    expect(served['spec']).toEqual({ size: 1 });
    expect(served.metadata.managedFields).toHaveLength(1);
  });

  it('do not own fields that the subresource resets', () => {
    const live = apply('one', undefined, { ...widgetOf({ name: 'x' }), status: { phase: 'No' } }, { resetFields: [['status']] }).object;
    expect(owners(live)).toEqual({ one: { 'f:spec': { 'f:name': {} } } });
  });
});

const key = fc.constantFrom('a', 'b', '__proto__', 'constructor');
const map = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true });
const word = fc.constantFrom('1', '2', '3');
const spec = fc
  .record(
    {
      name: word,
      labels: map(word),
      tags: fc.uniqueArray(word, { maxLength: 3 }),
      words: fc.array(word, { maxLength: 2 }),
      parts: fc.uniqueArray(fc.record({ name: word, image: word }, { requiredKeys: ['name'] }), {
        selector: ({ name }) => name,
        maxLength: 3,
      }),
      free: map(map(word)),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

const normal = (value: KubeObject): unknown => {
  const { spec: inner } = value as unknown as { spec?: { tags?: string[]; parts?: { name: string }[] } };
  return { ...inner, tags: inner?.tags?.toSorted(), parts: inner?.parts?.toSorted((left, right) => (left.name < right.name ? -1 : 1)) };
};

const isEmptyList = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;

describe('every configuration', () => {
  it('changes nothing if applied again', () => {
    fc.assert(
      fc.property(spec, spec, (one, two) => {
        const live = apply('two', applyAll(['one', one]), widgetOf(two), { force: true }).object;
        const again = apply('two', live, widgetOf(two), { now: later });
        expect(again.object).toEqual(live);
        expect(again.changed).toBe(false);
      }),
    );
  });

  it('gives the same object in either order if two managers agree', () => {
    fc.assert(
      fc.property(spec, (one) => {
        const two: JsonObject = { size: 7, selector: { q: '1' }, box: { a: '1' } };
        const [left, right] = [applyAll(['one', one], ['two', two]), applyAll(['two', two], ['one', one])];
        expect(normal(left)).toEqual(normal(right));
        expect(owners(left)).toEqual(owners(right));
      }),
    );
  });

  it('is removed if the manager applies nothing', () => {
    fc.assert(
      // As in Kubernetes, an empty list has no field that a manager could own.
      fc.property(
        spec.filter(({ tags, parts }) => !isEmptyList(tags) && !isEmptyList(parts)),
        (one) => {
          const base = applyAll(['base', { size: 1 }]);
          const both = apply('one', base, widgetOf(one)).object;
          expect(apply('one', both, widgetOf(undefined)).object['spec']).toEqual({ size: 1 });
        },
      ),
    );
  });

  it('changes neither the live object nor the configuration', () => {
    fc.assert(
      fc.property(spec, spec, (one, two) => {
        const live = applyAll(['one', one]);
        const config = widgetOf(two);
        const before = JSON.stringify([live, config]);
        const { object } = apply('two', live, config, { force: true });
        Object.assign(object['spec'] ?? {}, { name: 'changed' });
        expect(JSON.stringify([live, config])).toBe(before);
      }),
    );
  });

  it('can be made in parts, between which others may run', () => {
    fc.assert(
      fc.property(spec, spec, (one, two) => {
        const request = (live: KubeObject | undefined, config: JsonObject): ApplyRequest => ({
          ...{ live, config, type: widget, kind: 'Widget', manager: 'one', force: true },
          ...{ apiVersion: config['apiVersion'] as string, subresource: '', now },
        });
        const live = applyAll(['one', one]);
        const parts = applyInParts(request(live, widgetOf(two)));
        let count = 0;
        let part = parts.next();
        for (; !part.done; part = parts.next()) count++;
        expect(count).toBeGreaterThan(6);
        expect(part.value).toEqual(applyPatch(request(live, widgetOf(two))));
      }),
    );
  });

  it('made again removes nothing, whatever others have added', () => {
    fc.assert(
      fc.property(spec, spec, (one, two) => {
        const first = apply('one', undefined, widgetOf(one)).object;
        const both = apply('two', first, widgetOf(two), { force: true }).object;
        const again = apply('one', both, widgetOf(one), { force: true }).object;
        expect(apply('two', again, widgetOf(two), { force: true }).object['spec']).toEqual(both['spec']);
      }),
    );
  });
});
