import type { KubeObject } from '@capstan/machinery';
import { expect, it } from 'vitest';
import { strategies } from '../strategies.ts';
import { contextOf } from '../testing/context.ts';

const many = <Item>(count: number, make: (index: number) => Item): Item[] => Array.from({ length: count }, (_, index) => make(index));
const variables = many(100, (index) => ({ name: `v${index}`, expression: `${index}` }));
const matchConditions = many(50, (index) => ({ name: `c${index}`, expression: `${index} == ${index}` }));
const jsonPatch = { expression: '[]' };
const hook = (index: number): object => ({ name: `w${index}.example.com`, matchConditions: index === 0 ? matchConditions : [] });

it.each<[string, object, number]>([
  ['validatingadmissionpolicies', { spec: { variables, matchConditions, validations: matchConditions, auditAnnotations: variables } }, 300],
  [
    'mutatingadmissionpolicies',
    { spec: { variables, matchConditions, mutations: many(50, () => ({ patchType: 'JSONPatch', jsonPatch })) } },
    200,
  ],
  ['validatingwebhookconfigurations', { webhooks: many(100, hook) }, 150],
])('%s are validated in parts, between their expressions', (resource, content, expected) => {
  const strategy = strategies.get(`admissionregistration.k8s.io/${resource}`)!;
  const object: KubeObject = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'Any', metadata: { name: 'a' }, ...content };
  let parts = 0;
  for (const _ of strategy.validateObjectInParts!(object, contextOf())) parts++;
  expect(parts).toBe(expected);
});
