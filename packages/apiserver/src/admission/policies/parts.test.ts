import type { KubeObject, Parts } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { Evaluation } from '../expressions/evaluation.ts';
import { evaluatePolicy, type Findings } from './evaluate.ts';
import { mutated } from './mutating/mutate.ts';
import { mutatingPolicyOf } from './mutating/policy.ts';
import { policyOf } from './policy.ts';

const long = 'object.items.all(a, object.items.all(b, a != b || a == b))';
const object = { items: Array.from({ length: 300 }, (_, index) => index) };
const policy = (spec: object): KubeObject => ({ apiVersion: 'v1', kind: 'Policy', metadata: { name: 'p' }, spec }) as KubeObject;

function counted<Result>(work: Parts<Result>): { readonly parts: number; readonly result: Result } {
  for (let parts = 1; ; parts++) {
    const part = work.next();
    if (part.done) return { parts, result: part.value };
  }
}

const evaluated = (spec: object): { readonly parts: number; readonly result: Findings } =>
  counted(evaluatePolicy(policyOf(policy(spec)), { object }));

describe('a policy is evaluated in parts:', () => {
  test('its conditions', () => {
    const { parts, result } = evaluated({ matchConditions: [{ name: 'c', expression: long }], validations: [{ expression: '1 > 2' }] });
    expect(result.failures).toHaveLength(1);
    expect(parts).toBeGreaterThan(5);
  });

  test('its validations', () => {
    const { parts, result } = evaluated({ validations: [{ expression: long }, { expression: `!${long}`, message: 'no' }] });
    expect(result.failures).toEqual([{ message: 'no', reason: 'Invalid', index: 1 }]);
    expect(parts).toBeGreaterThan(10);
  });

  test('its messages', () => {
    const { parts, result } = evaluated({ validations: [{ expression: 'false', messageExpression: `${long} ? 'made' : ''` }] });
    expect(result.failures).toEqual([{ message: 'made', reason: 'Invalid', index: 0 }]);
    expect(parts).toBeGreaterThan(5);
  });

  test('its audit annotations', () => {
    const { parts, result } = evaluated({ auditAnnotations: [{ key: 'k', valueExpression: `${long} ? 'made' : ''` }] });
    expect(result.annotations).toEqual([{ key: 'k', value: 'made' }]);
    expect(parts).toBeGreaterThan(5);
  });

  test('its mutations', () => {
    const patch = { patchType: 'JSONPatch', jsonPatch: { expression: `${long} ? [] : [JSONPatch{op: 'remove', path: '/items'}]` } };
    const { mutations, variables } = mutatingPolicyOf(policy({ mutations: [patch] }));
    const evaluation = new Evaluation({ object }, variables, 10_000_000);
    const before = object as unknown as KubeObject;
    const { parts, result } = counted(mutated(mutations[0]!, before, { evaluation, form: undefined as never }));
    expect(result).toBe(before);
    expect(parts).toBeGreaterThan(5);
  });

  test('but not if it is short', () => {
    const { parts, result } = evaluated({
      validations: [{ expression: 'object.items.size() == 300' }, { expression: '7 in object.items' }],
    });
    expect(result.failures).toEqual([]);
    expect(parts).toBe(1);
  });
});
