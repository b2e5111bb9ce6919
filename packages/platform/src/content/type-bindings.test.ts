import type { WorkspaceType } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import type { Product } from '../product.ts';
import { productBindingsAnnotation, withProducts } from './type-bindings.ts';

const product = (name: string, boundBy: Product['boundBy'] = ['project']): Product => ({
  name,
  boundBy,
  kinds: [],
  rules: [],
  controllers: [],
});
const ours = (name: string) => ({ path: 'root:platform', export: `${name}.capstan.dev` });
const theirs = { path: 'root:main', export: 'cowboys' };
const type = (bindings: readonly object[], applied?: string): WorkspaceType => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name: 'project', ...(applied !== undefined && { annotations: { [productBindingsAnnotation]: applied } }) },
  spec: { defaultAPIBindings: bindings as never },
});

describe('withProducts', () => {
  const [a, b] = [product('a'), product('b')];
  const both = 'a.capstan.dev,b.capstan.dev';
  test.each([
    {
      name: 'adds installed products',
      given: type([theirs]),
      products: [a, b],
      installed: [a, b],
      bindings: [theirs, ours('a'), ours('b')],
    },
    { name: 'leaves out one that is not installed', given: type([]), products: [a, b], installed: [b], bindings: [ours('b')] },
    {
      name: 'leaves out one that the type does not bind',
      given: type([]),
      products: [a, product('c', ['home'])],
      installed: [a],
      bindings: [ours('a')],
    },
    {
      name: 'removes one that the program no longer has',
      given: type([ours('a'), ours('b')], both),
      products: [b],
      installed: [b],
      bindings: [ours('b')],
    },
    {
      name: 'adopts one that the owner added',
      given: type([ours('a')]),
      products: [a, b],
      installed: [a, b],
      bindings: [ours('a'), ours('b')],
    },
  ])('$name', ({ given, products, installed, bindings }) => {
    expect(withProducts(given, products, (one) => installed.includes(one))?.spec?.defaultAPIBindings).toEqual(bindings);
  });

  test.each([
    ['nothing is new', type([ours('a')], 'a.capstan.dev'), [a], [a]],
    ['the upgrade of a bound product fails', type([ours('a')], 'a.capstan.dev'), [a], []],
    ['the owner removed the binding', type([theirs], 'a.capstan.dev'), [a], [a]],
    ['there are no products', type([theirs]), [], []],
  ])('changes nothing if %s', (_what, given, products, installed) => {
    expect(withProducts(given, products, (one) => installed.includes(one))).toBeUndefined();
  });
});
