import type { KubeObject } from '@capstan/machinery';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toV1alpha1, toV1alpha2 } from './conversions.ts';

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const gri = { group: fc.option(word, { nil: undefined }), resource: word };
const identityHash = fc.option(word, { nil: undefined });
type Claim = { group?: string; resource: string; identityHash?: string };
const sameClaim = { selector: ({ group, resource, identityHash: hash }: Claim) => `${group ?? ''}/${resource}/${hash ?? ''}` };
const lists = <T>(claim: fc.Arbitrary<T>) => fc.uniqueArray(claim.map(plain), sameClaim as never) as fc.Arbitrary<T[]>;

/** As after a JSON round trip, without undefined fields. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

const resourceSelector = fc.array(fc.record({ name: word, namespace: word }), { minLength: 1, maxLength: 3 });
const oldClaim = fc.oneof(
  fc.record({ ...gri, identityHash, all: fc.constant(true) }),
  fc.record({ ...gri, identityHash, resourceSelector }),
);
const verbs = fc.oneof(fc.constant(['*']), fc.uniqueArray(fc.constantFrom('get', 'list', 'watch', 'update'), { minLength: 1 }));
const requirement = fc.record({ key: word, operator: fc.constant('In'), values: fc.array(word, { minLength: 1 }) });
const selector = fc.oneof(
  fc.constant({ matchAll: true }),
  fc.record({ matchLabels: fc.dictionary(word, word, { minKeys: 1 }) }),
  fc.record({ matchExpressions: fc.array(requirement, { minLength: 1 }) }),
);
const state = fc.constantFrom('Accepted', 'Rejected');
const defaultSelector = fc.option(selector, { nil: undefined });
const newClaim = fc.record({ ...gri, identityHash, verbs, defaultSelector });
const scopedClaim = fc.record({ ...gri, identityHash, verbs, selector, defaultSelector });

const metadata = fc.record({ name: word, annotations: fc.dictionary(word, word, { minKeys: 1 }) });
const group = fc.array(word, { minLength: 2, maxLength: 3 }).map((parts) => parts.join('.'));
const schemaName = fc.tuple(word, word, group).map((parts) => parts.join('.'));
const storedResource = schemaName.map((schema) => {
  const [, name, ...rest] = schema.split('.');
  return { group: rest.join('.'), name, schema, storage: { crd: {} } };
});
const virtualResource = fc.record({
  group,
  name: word,
  schema: schemaName,
  storage: fc.record({ virtual: fc.record({ reference: fc.record({ kind: word, name: word }), identityHash: word }) }),
});

const common = { identity: fc.constant({ secretRef: { name: 's', namespace: 'n' } }) };
const oldExport = fc.record({
  apiVersion: fc.constant('apis.kcp.io/v1alpha1'),
  kind: fc.constant('APIExport'),
  metadata,
  spec: fc.record({ ...common, latestResourceSchemas: fc.array(schemaName, { minLength: 1 }), permissionClaims: lists(oldClaim) }),
  status: fc.record({ identityHash: word }),
});
const newExport = fc.record({
  apiVersion: fc.constant('apis.kcp.io/v1alpha2'),
  kind: fc.constant('APIExport'),
  metadata,
  spec: fc.record({
    ...common,
    resources: fc
      .tuple(fc.array(storedResource, { minLength: 1 }), fc.array(virtualResource))
      .map(([stored, virtual]) => [...stored, ...virtual]),
    permissionClaims: lists(newClaim),
  }),
  status: fc.record({ identityHash: word }),
});
const reference = fc.constant({ export: { path: 'root:a', name: 'b' } });
const binding = (
  version: string,
  claims: { accepted: fc.Arbitrary<object[]>; exported: fc.Arbitrary<object[]>; applied: fc.Arbitrary<object[]> },
) =>
  fc.record({
    apiVersion: fc.constant(`apis.kcp.io/${version}`),
    kind: fc.constant('APIBinding'),
    metadata,
    spec: fc.record({ reference, permissionClaims: claims.accepted }),
    status: fc.record({
      phase: fc.constant('Bound'),
      exportPermissionClaims: claims.exported,
      appliedPermissionClaims: claims.applied,
    }),
  });
const accepted = (claim: fc.Arbitrary<object>) => lists(fc.tuple(claim, state).map(([fields, value]) => ({ ...fields, state: value })));
const oldBinding = binding('v1alpha1', { accepted: accepted(oldClaim), exported: lists(oldClaim), applied: lists(oldClaim) });
const newBinding = binding('v1alpha2', { accepted: accepted(scopedClaim), exported: lists(newClaim), applied: lists(scopedClaim) });

/** The notes that v1alpha2 keeps for v1alpha1 are redundant in v1alpha2. */
function withoutNotes(object: KubeObject): KubeObject {
  const annotations = Object.entries(object.metadata.annotations ?? {}).filter(([name]) => !name.includes('/v1alpha1-'));
  return { ...object, metadata: { ...object.metadata, annotations: Object.fromEntries(annotations) } };
}

describe('conversion to the other version and back preserves the object', () => {
  test.each([
    ['APIExport', oldExport],
    ['APIBinding', oldBinding],
  ])('%s from v1alpha1', (_kind, arbitrary) => {
    fc.assert(
      fc.property(arbitrary as fc.Arbitrary<KubeObject>, (object) => {
        const before = plain(object);
        expect(toV1alpha1(plain(toV1alpha2(object)))).toEqual(before);
        expect(object).toEqual(before);
      }),
    );
  });

  test.each([
    ['APIExport', newExport],
    ['APIBinding', newBinding],
  ])('%s from v1alpha2', (_kind, arbitrary) => {
    fc.assert(
      fc.property(arbitrary as fc.Arbitrary<KubeObject>, (object) => {
        const before = plain(object);
        expect(withoutNotes(toV1alpha2(plain(toV1alpha1(object))))).toEqual(before);
        expect(object).toEqual(before);
      }),
    );
  });
});

const exported = (version: string, spec: object, annotations?: Record<string, string>): KubeObject => ({
  apiVersion: `apis.kcp.io/${version}`,
  kind: 'APIExport',
  metadata: { name: 'x', ...(annotations && { annotations }) },
  spec: spec as never,
});

describe('an APIExport', () => {
  test('lists its resources by schema name in v1alpha1', () => {
    const spec = { latestResourceSchemas: ['v1.widgets.example.com', 'v2.things.core'] };
    expect(toV1alpha2(exported('v1alpha1', spec))['spec']).toEqual({
      resources: [
        { group: 'example.com', name: 'widgets', schema: 'v1.widgets.example.com', storage: { crd: {} } },
        { group: '', name: 'things', schema: 'v2.things.core', storage: { crd: {} } },
      ],
    });
  });

  test('is rejected if a schema name has no resource and group', () => {
    expect(() => toV1alpha2(exported('v1alpha1', { latestResourceSchemas: ['widgets'] }))).toThrow(
      'invalid schema "widgets": must have at least 3 dot-separated segments',
    );
  });

  test('without a spec stays without one', () => {
    const object: KubeObject = { apiVersion: 'apis.kcp.io/v1alpha1', kind: 'APIExport', metadata: { name: 'x' } };
    expect(toV1alpha2(object)).toEqual({ ...object, apiVersion: 'apis.kcp.io/v1alpha2' });
  });

  test('claims every verb when converted from v1alpha1', () => {
    const claimed = toV1alpha2(exported('v1alpha1', { permissionClaims: [{ resource: 'secrets', all: true }] }));
    expect(claimed['spec']).toEqual({ permissionClaims: [{ resource: 'secrets', verbs: ['*'] }] });
    expect(claimed.metadata.annotations).toEqual({
      'apis.v1alpha2.kcp.io/v1alpha1-permission-claims': '[{"resource":"secrets","all":true}]',
    });
  });

  test.each([
    'nonsense',
    '{}',
    '[1,null]',
    '[{"resource":"secrets","verbs":"get"}]',
    '[{"resource":"secrets","verbs":[]}]',
    '[{"resource":"secrets","verbs":[7]}]',
  ])('can be converted whatever its annotations contain: %s', (text) => {
    const annotations = { 'apis.v1alpha2.kcp.io/permission-claims': text, 'apis.v1alpha2.kcp.io/resource-schemas': text };
    expect(toV1alpha2(exported('v1alpha1', { permissionClaims: [{ resource: 'secrets', all: true }] }, annotations))['spec']).toEqual({
      permissionClaims: [{ resource: 'secrets', verbs: ['*'] }],
    });
  });
});

describe('an APIBinding', () => {
  const bound = (version: string, permissionClaims: object[], annotations?: Record<string, string>): KubeObject => ({
    ...exported(version, { reference: { export: { name: 'x' } }, permissionClaims }, annotations),
    kind: 'APIBinding',
  });

  test('that selects objects by name in v1alpha1 covers all of them, as before', () => {
    const claim = { resource: 'secrets', resourceSelector: [{ name: 'a', namespace: 'b' }], state: 'Accepted' };
    expect(toV1alpha2(bound('v1alpha1', [claim]))['spec']).toMatchObject({
      permissionClaims: [{ resource: 'secrets', verbs: ['*'], selector: { matchAll: true }, state: 'Accepted' }],
    });
  });

  test('shows a limited claim without its limits in v1alpha1, and keeps the limits in an annotation', () => {
    const claim = { resource: 'secrets', verbs: ['get'], selector: { matchLabels: { a: 'b' } }, state: 'Accepted' };
    const shown = toV1alpha1(bound('v1alpha2', [claim]));
    expect(shown['spec']).toMatchObject({ permissionClaims: [{ resource: 'secrets', state: 'Accepted' }] });
    expect(shown.metadata.annotations).toEqual({ 'apis.v1alpha2.kcp.io/acceptable-permission-claims': JSON.stringify([claim]) });
  });

  test('is not changed by a leftover annotation when it is read and written back', () => {
    const claim = { resource: 'secrets', verbs: ['*'], selector: { matchAll: true }, state: 'Accepted' };
    const leftover = { 'apis.v1alpha2.kcp.io/acceptable-permission-claims': '[{"resource":"secrets","verbs":["get"]}]' };
    expect(toV1alpha2(toV1alpha1(bound('v1alpha2', [claim], leftover)))['spec']).toMatchObject({ permissionClaims: [claim] });
  });

  test('omits the core group and an empty identity, as kcp does', () => {
    const claim = { group: '', identityHash: '', resource: 'secrets', verbs: ['*'], selector: { matchAll: true }, state: 'Accepted' };
    expect((toV1alpha1(bound('v1alpha2', [claim]))['spec'] as { permissionClaims: object }).permissionClaims).toEqual([
      { resource: 'secrets', all: true, state: 'Accepted' },
    ]);
  });

  test('in the requested version is returned unchanged', () => {
    const object = bound('v1alpha2', []);
    expect(toV1alpha2(object)).toBe(object);
  });
});
