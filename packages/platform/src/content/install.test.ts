import type { KindReference } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import type { Product } from '../product.ts';
import { mill, sailType, wind } from '../suite/platform.ts';
import { checkProducts } from './check.ts';
import { type InstallActions, installProduct, NotYet } from './install.ts';

const valid = { identityHash: 'hash', conditions: [{ type: 'IdentityValid', status: 'True' }] };

/** A server on which controllers have done these things already. */
function server(done: { readonly exports?: boolean; readonly bindings?: boolean; readonly catalogs?: boolean }) {
  const written: string[] = [];
  const objects = new Map<string, KubeObject>();
  const write = async (_kind: KindReference, object: KubeObject): Promise<KubeObject> => {
    const { name } = object.metadata;
    written.push(`${object.kind} ${name}`);
    objects.set(`${object.kind} ${name}`, object);
    if (object.kind === 'APIExport' && done.exports === true) return { ...object, status: valid };
    if (object.kind === 'APIBinding' && done.bindings === true) return { ...object, status: { phase: 'Bound' } };
    if (object.kind === 'CachedResource' && done.catalogs === true) return { ...object, status: { identityHash: 'catalog' } };
    return object;
  };
  const actions: InstallActions = {
    put: write as InstallActions['put'],
    ensure: write,
    renew: async () => false,
    get: async () => undefined,
  };
  return { written, objects, actions };
}

const small: Product = { name: 'small', kinds: [mill], boundBy: ['project'], rules: [], controllers: [] };
const all = { exports: true, bindings: true, catalogs: true };
const outcome = async (product: Product, done: Parameters<typeof server>[0], others: readonly Product[] = []) => {
  const { written, objects, actions } = server(done);
  const error = await installProduct(product, [product, ...others], actions).catch((thrown: unknown) => thrown);
  return { written, objects, error };
};

describe('installProduct', () => {
  test.each([
    ['an export without an identity', small, {}, 'APIExport small.capstan.dev has no identity yet'],
    ['an export of catalogs without an identity', wind, {}, 'APIExport platform.wind.capstan.dev has no identity yet'],
    ['a binding', wind, { exports: true }, 'APIBinding platform.wind.capstan.dev is not bound yet'],
    ['a catalog', wind, { exports: true, bindings: true }, 'CachedResource sailtypes.wind.capstan.dev has no identity yet'],
  ])('waits for %s', async (_what, product, done, message) => {
    const { error } = await outcome(product, done);
    expect(error).toBeInstanceOf(NotYet);
    expect((error as Error).message).toBe(message);
  });

  test('writes schemas before exports, and the export after its catalogs', async () => {
    const { written, error } = await outcome(wind, all);
    expect(error).toBeUndefined();
    const order = [
      'APIExport platform.wind.capstan.dev',
      'APIBinding platform.wind.capstan.dev',
      'CachedResource sailtypes.wind.capstan.dev',
      'APIExport wind.capstan.dev',
    ];
    expect(written.filter((one) => order.includes(one))).toEqual(order);
    expect(written.slice(0, 2).every((one) => one.startsWith('APIResourceSchema'))).toBe(true);
  });

  test('limits tenants, and not root:platform', async () => {
    const { objects } = await outcome(wind, all);
    expect(objects.get('APIExport wind.capstan.dev')).toMatchObject({ spec: { maximalPermissionPolicy: { local: {} } } });
    expect(objects.get('APIExport platform.wind.capstan.dev')).toMatchObject({ spec: { maximalPermissionPolicy: undefined } });
    expect(objects.get('ClusterRole capstan:product:wind:tenants')?.['rules']).toEqual([
      { apiGroups: ['wind.capstan.dev'], resources: ['mills'], verbs: ['*'] },
      { apiGroups: ['wind.capstan.dev'], resources: ['mills/status'], verbs: ['get'] },
      { apiGroups: ['wind.capstan.dev'], resources: ['sailtypes'], verbs: ['get', 'list', 'watch'] },
    ]);
    const alone = await outcome({ ...small, boundBy: ['platform'] }, all);
    expect(alone.objects.get('APIExport small.capstan.dev')).toMatchObject({ spec: { maximalPermissionPolicy: undefined } });
    expect(alone.written).toContain('APIBinding small.capstan.dev');
  });

  test('gives the account rights in single namespaces', async () => {
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
    const { objects } = await outcome({ ...small, namespaces: [{ name: 'small', rules }] }, all);
    expect(objects.get('Namespace small')).toBeDefined();
    expect(objects.get('Role capstan:product:small')).toMatchObject({ metadata: { namespace: 'small' }, rules });
    expect(objects.get('RoleBinding capstan:product:small')?.['subjects']).toMatchObject([{ kind: 'ServiceAccount', name: 'small' }]);
  });

  test('renews its own objects with all defaults, and waits until their kind is served', async () => {
    const object = { apiVersion: 'wind.capstan.dev/v1alpha1', kind: 'Mill', metadata: { name: 'a', namespace: 'default' }, spec: {} };
    const bringing: Product = { ...small, content: () => [{ kind: mill, object }] };
    expect((await outcome(bringing, all)).error).toMatchObject({ message: 'root:platform does not serve mills yet' });
    const { actions } = server(all);
    const renewed: KubeObject[] = [];
    await installProduct(bringing, [bringing], { ...actions, renew: async (_kind, one) => renewed.push(one) > 0 });
    expect(renewed).toMatchObject([{ metadata: { annotations: { 'capstan.dev/applied': expect.any(String) } }, spec: { sails: 4 } }]);
  });

  test('lets reporters write status', async () => {
    const { objects } = await outcome({ ...small, reporters: ['agents'] }, all);
    expect(objects.get('ClusterRoleBinding capstan:product:small:reporters')?.['subjects']).toMatchObject([
      { name: 'apis.kcp.io:binding:agents' },
    ]);
  });

  test('adds the identity of another product to a claim on its kinds', async () => {
    const claiming: Product = {
      ...wind,
      name: 'other',
      kinds: [],
      catalogs: [],
      claims: [{ group: mill.group, resource: 'mills', verbs: ['get'] }],
    };
    expect((await outcome(claiming, all, [small])).error).toMatchObject({
      message: 'it claims mills of the product small, which is not installed yet',
    });
    const { objects, actions } = server(all);
    const exported: KubeObject = { apiVersion: '', kind: 'APIExport', metadata: { name: 'small.capstan.dev' }, status: valid };
    await installProduct(claiming, [claiming, small], { ...actions, get: (async () => exported) as InstallActions['get'] });
    expect(objects.get('APIExport other.capstan.dev')).toMatchObject({
      spec: { permissionClaims: [{ resource: 'mills', identityHash: 'hash' }] },
    });
  });
});

describe('checkProducts', () => {
  test.each([
    [[small, small], 'two products are named small'],
    [[{ ...small, name: 'Small' }], 'found "Small"'],
    [[small, { ...small, name: 'other' }], 'mills.wind.capstan.dev is a kind of the products small and other'],
    [[{ ...small, catalogs: [sailType] }], 'the catalog sailtypes.wind.capstan.dev is not among the kinds'],
    [[{ ...small, catalogs: [mill] }], 'catalogs are cluster-scoped'],
  ])('refuses contradictions', (products, message) => {
    expect(() => checkProducts(products)).toThrow(message);
  });
});
