import { describe, expect, it } from 'vitest';
import type { FieldError } from '../field/error.ts';
import type { ObjectMeta } from '../json.ts';
import { dns1123Subdomain } from './names.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from './validate.ts';

const good: ObjectMeta = { name: 'a', namespace: 'n', resourceVersion: '5', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
const rules = { namespaced: true, validateName: dns1123Subdomain };

const texts = (errors: FieldError[]): string[] => errors.map((error) => `${error.field}: ${error.body}`);
const created = (meta: ObjectMeta): string[] => texts(validateObjectMeta({ ...good, ...meta }, rules));
const changed = (meta: ObjectMeta, old: ObjectMeta = {}): string[] =>
  texts(validateObjectMetaUpdate({ ...good, ...meta }, { ...good, ...old }, { namespaced: true }));

it('finalizers of an object that is being deleted are read once each', () => {
  let reads = 0;
  const finalizers = Array.from({ length: 5_000 }, (_, index) => `example.com/${index}`);
  const get = (target: string[], key: string | symbol): unknown => {
    reads++;
    return Reflect.get(target, key);
  };
  const old = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: new Proxy(finalizers, { get }) };
  const meta = { deletionTimestamp: old.deletionTimestamp, finalizers: [...finalizers.toReversed(), 'example.com/new'] };
  expect(changed(meta, old)).toEqual([expect.stringContaining('found new finalizers []string{"example.com/new"}')]);
  expect(reads).toBeLessThan(20_000);
});

it('owners that all want to be the controller are printed once', () => {
  let reads = 0;
  const owner = {
    apiVersion: 'v1',
    kind: 'Pod',
    uid: 'q',
    controller: true,
    get name() {
      reads++;
      return 'p';
    },
  };
  const errors = validateObjectMeta({ ...good, ownerReferences: Array.from({ length: 2_000 }, () => owner) }, rules);
  expect(errors.length).toBe(1_999);
  expect(reads).toBeLessThan(10 * 2_000);
});

describe('metadata of a new object', () => {
  it('may be minimal or complete', () => {
    expect(created({})).toEqual([]);
    expect(
      created({
        labels: { 'a.b/c': 'd', constructor: '' },
        annotations: { 'A.B/c': 'anything at all' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'q', controller: true }],
        finalizers: ['example.com/f', 'orphan', 'kubernetes'],
        managedFields: [{ manager: 'me', operation: 'Apply', fieldsType: 'FieldsV1', apiVersion: 'v1' }],
      }),
    ).toEqual([]);
  });

  it.each<[string, ObjectMeta, (string | RegExp)[]]>([
    ['a name', { name: '' }, ['metadata.name: Required value: name or generateName is required']],
    ['a namespace', { namespace: '' }, ['metadata.namespace: Required value']],
    ['a namespace without dots', { namespace: 'a.b' }, ['metadata.namespace: Invalid value: "a.b": must not contain dots']],
    ['a valid prefix', { generateName: 'A_b-' }, [/^metadata.generateName: Invalid value: "A_b-": a lowercase RFC 1123/]],
    ['a non-negative generation', { generation: -1 }, ['metadata.generation: Invalid value: -1: must be greater than or equal to 0']],
    [
      'good labels',
      { labels: { '/x': 'y z' } },
      [/^metadata.labels: Invalid value: "\/x": prefix part/, /^metadata.labels: Invalid value: "y z"/],
    ],
    [
      'small annotations',
      { annotations: { a: 'é'.repeat(131_072) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'full finalizers',
      { finalizers: ['nope'] },
      [/^metadata.finalizers\[0\]: Invalid value: "nope": name is neither a standard finalizer/],
    ],
    [
      'one way to delete dependents',
      { finalizers: ['orphan', 'foregroundDeletion'] },
      ['metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set'],
    ],
    [
      'an owner other than an event',
      { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' }] },
      [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
      ],
    ],
    [
      'complete owners',
      { ownerReferences: [{ apiVersion: 'a/b/c', kind: '', name: '', uid: '' }] },
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      'one controller',
      {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true },
          { apiVersion: 'v1', kind: 'Pod', name: 'q', uid: 'v', controller: true },
        ],
      },
      [/Only one reference can have Controller set to true. Found "true" in references for Pod\/p and Pod\/q$/],
    ],
    [
      'valid managed fields',
      { managedFields: [{ manager: 'm\u0007', fieldsType: 'V2' as 'FieldsV1', subresource: 's'.repeat(257) }] },
      [
        'metadata.managedFields[0].operation: Invalid value: "": must be `Apply` or `Update`',
        'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
        'metadata.managedFields[0].manager: Invalid value: "m\\a": invalid character U+0007 (at position 1)',
        'metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes',
      ],
    ],
  ])('needs %s', (_what, meta, expected) => {
    const errors = created(meta);
    expect(errors).toHaveLength(expected.length);
    errors.forEach((error, index) => {
      if (typeof expected[index] === 'string') expect(error).toBe(expected[index]);
      else expect(error).toMatch(expected[index]!);
    });
  });

  it('has no namespace if the kind is not namespaced', () => {
    const errors = validateObjectMeta(good, { ...rules, namespaced: false });
    expect(texts(errors)).toEqual(['metadata.namespace: Forbidden: not allowed on this type']);
  });

  it('may have any qualified finalizer on a custom resource', () => {
    expect(validateObjectMeta({ ...good, finalizers: ['nope'] }, { ...rules, custom: true })).toEqual([]);
  });
});

describe('metadata of an updated object', () => {
  it('may change labels, annotations, owners and finalizers', () => {
    expect(changed({ labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['x/y'] }, { labels: {}, finalizers: ['x/z'] })).toEqual([]);
  });

  it.each<[string, ObjectMeta, string]>([
    ['name', { name: 'b' }, 'metadata.name: Invalid value: "b": field is immutable'],
    ['namespace', { namespace: 'm' }, 'metadata.namespace: Invalid value: "m": field is immutable'],
    ['uid', { uid: 'v' }, 'metadata.uid: Invalid value: "v": field is immutable'],
    ['creationTimestamp', { creationTimestamp: null }, 'metadata.creationTimestamp: Invalid value: null: field is immutable'],
    ['deletionTimestamp', { deletionTimestamp: 't' }, 'metadata.deletionTimestamp: Invalid value: "t": field is immutable'],
    [
      'deletionGracePeriodSeconds',
      { deletionGracePeriodSeconds: 3 },
      'metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable',
    ],
  ])('keeps its %s', (_field, meta, message) => {
    expect(new Set(changed(meta))).toEqual(new Set([message]));
  });

  it('needs the version it is based on, and never decreases its generation', () => {
    expect(changed({ resourceVersion: '' })).toContain('metadata.resourceVersion: Invalid value: "": must be specified for an update');
    expect(changed({ generation: 1 }, { generation: 2 })).toContain('metadata.generation: Invalid value: 1: must not be decremented');
  });

  it('gets no new finalizers while it is being deleted', () => {
    const deleting = { deletionTimestamp: 't', finalizers: ['x/y'] };
    const message =
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a/b", "c/d"}';
    expect(changed({ ...deleting, finalizers: ['c/d', 'x/y', 'a/b'] }, deleting)).toEqual([message]);
    expect(changed({ ...deleting, finalizers: [] }, deleting)).toEqual([]);
  });
});
