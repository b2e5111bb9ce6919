import type { KubeObject, Parts } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { strategies } from '../strategies.ts';
import { contextOf } from '../testing/context.ts';

const strategy = strategies.get('apiextensions.k8s.io/customresourcedefinitions')!;
const many = <Item>(count: number, make: (index: number) => Item): Record<string, Item> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)]));

function definition(versions: readonly object[]): KubeObject {
  const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' };
  const spec = { group: 'example.com', names, scope: 'Cluster', versions };
  const object = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec,
  };
  strategy.default!(object);
  strategy.prepareForCreate!(object, contextOf());
  return object;
}

const version = (openAPIV3Schema: object, name = 'v1'): object => ({
  ...{ name, served: true, storage: name === 'v1' },
  schema: { openAPIV3Schema },
});

/** Counts the parts of work, and returns its result. */
function counted<Result>(work: Parts<Result>): { readonly parts: number; readonly result: Result } {
  for (let parts = 1; ; parts++) {
    const part = work.next();
    if (part.done) return { parts, result: part.value };
  }
}

const check = (object: KubeObject, old?: KubeObject): { readonly parts: number; readonly result: readonly { field: string }[] } =>
  counted(strategy.validateInParts!({ object, old, errors: [] }, contextOf()));

describe('a definition is validated in parts', () => {
  it('between its versions', () => {
    const versions = Array.from({ length: 20 }, (_, index) => version({ type: 'object', description: `${index}` }, `v${index + 1}`));
    const { parts, result } = check(definition(versions));
    expect(result).toEqual([]);
    expect(parts).toBeGreaterThan(20 * 5);
  });

  it('between its properties, in each phase', () => {
    const property = (index: number): object => ({ type: 'string', ...(index % 2 === 0 && { default: 'a' }) });
    const { parts, result } = check(definition([version({ type: 'object', properties: many(5_000, property) })]));
    expect(result).toEqual([]);
    // Reading (twice), readability, structure, defaults and the rest.
    expect(parts).toBeGreaterThan(6 * 9);
  });

  it('between its errors', () => {
    const { parts, result } = check(definition([version({ type: 'object', properties: many(5_000, () => ({})) })]));
    expect(result).toHaveLength(5_000);
    expect(parts).toBeGreaterThan(6 * 9);
  });

  it('between its rules', () => {
    const rule = (index: number): object => ({
      type: 'string',
      maxLength: 9,
      'x-kubernetes-validations': [{ rule: `self != '${index}'` }],
    });
    const { parts, result } = check(definition([version({ type: 'object', properties: many(300, rule) })]));
    expect(result).toEqual([]);
    expect(parts).toBeGreaterThan(300);
  });
});

it('rules are not compiled again if their schema is as it was', () => {
  // Does not compile, so that an error shows that somebody tried.
  const withRule = (description: string): KubeObject => {
    const a = { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.wrong' }] };
    return definition([version({ type: 'object', description, properties: { a } })]);
  };
  expect(check(withRule('one'), withRule('one')).result).toEqual([]);
  expect(check(withRule('two'), withRule('one')).result.map(({ field }) => field)).toEqual([
    'spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].rule',
  ]);
});

it('patterns that take long to compile are refused', () => {
  const pattern = (index: number): object => ({ type: 'string', pattern: `(?i)x{900}${index}` });
  const slow = definition([version({ type: 'object', properties: many(300, pattern) })]);
  const refusal = [{ field: 'spec', body: expect.stringContaining('the patterns take too long to compile') as string }];
  expect(check(slow).result).toMatchObject(refusal);
});

it('unknown formats are warned of, unless the old definition has them', () => {
  const withFormats = (...formats: readonly string[]): KubeObject =>
    definition([version({ type: 'object', properties: many(formats.length, (index) => ({ type: 'string', format: formats[index] })) })]);
  const context = contextOf();
  counted(strategy.validateInParts!({ object: withFormats('date', 'one', 'two'), old: withFormats('one'), errors: [] }, context));
  expect(context.warnings).toEqual(['unrecognized format "two"']);
});
