import { contextOf, strategies } from '@capstan/kinds';
import { type KubeObject, type Parts, parseFieldSelector } from '@capstan/machinery';
import { expect, test } from 'vitest';

/** Counts the parts of work, and returns its result. */
function counted<Result>(work: Parts<Result>): { readonly parts: number; readonly result: Result } {
  for (let parts = 1; ; parts++) {
    const part = work.next();
    if (part.done) return { parts, result: part.value };
  }
}

test('a definition of 18,000 properties is validated in parts', () => {
  const properties = Object.fromEntries(Array.from({ length: 18_000 }, (_, index) => [`p${index}`, { type: 'string' }]));
  const object: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties } } }],
    },
  };
  const strategy = strategies.get('apiextensions.k8s.io/customresourcedefinitions')!;
  strategy.default!(object);
  strategy.prepareForCreate!(object, contextOf());
  const { parts, result } = counted(strategy.validateInParts!({ object, old: undefined, errors: [] }, contextOf()));
  expect(result).toEqual([]);
  expect(parts).toBeGreaterThan(6);
});

test('a field is read once for each object, however many terms of a selector there are about it', () => {
  const selector = parseFieldSelector(Array.from({ length: 250 }, (_, index) => `metadata.name!=n${index}`).join(','));
  let reads = 0;
  const matches = (name: string): boolean =>
    selector.matches(() => {
      reads++;
      return name;
    });
  expect([matches('n7'), matches('other'), reads]).toEqual([false, true, 2]);
  expect(parseFieldSelector('a=1,a=2').matches(() => '1')).toBe(false);
  expect(parseFieldSelector('a=1,a!=2').matches(() => '1')).toBe(true);
});
