import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { type Condition, isConditionTrue, removeCondition, setCondition } from './conditions.ts';
import { controllerOf, isControlledBy, withController } from './owners.ts';

describe('conditions', () => {
  const first = new Date('2026-01-01T00:00:00Z');
  const later = new Date('2026-01-02T00:00:00Z');
  const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: '', observedGeneration: 1 } as const;
  const before = setCondition(undefined, ready, first);

  test.each([
    ['nothing changed', ready, '2026-01-01T00:00:00Z'],
    ['only the message changed', { ...ready, message: 'still good' }, '2026-01-01T00:00:00Z'],
    ['only the generation changed', { ...ready, observedGeneration: 2 }, '2026-01-01T00:00:00Z'],
    ['the status changed', { ...ready, status: 'False', reason: 'Broken' } as const, '2026-01-02T00:00:00Z'],
  ])('set the right transition time when %s', (_what, condition, lastTransitionTime) => {
    expect(setCondition(before, condition, later)).toEqual([{ ...condition, lastTransitionTime }]);
  });

  test('are the same list if nothing has to be written', () => {
    expect(setCondition(before, ready, later)).toBe(before);
    expect(removeCondition(before, 'Other')).toBe(before);
  });

  test('keep their order, and leave the others alone', () => {
    const two = setCondition(before, { ...ready, type: 'Other' }, first);
    const changed = setCondition(two, { ...ready, status: 'Unknown' }, later);
    expect(changed.map(({ type, status }: Condition) => `${type}=${status}`)).toEqual(['Ready=Unknown', 'Other=True']);
    expect(removeCondition(changed, 'Ready').map(({ type }) => type)).toEqual(['Other']);
  });

  test('about an older generation do not count for this one', () => {
    expect(isConditionTrue(before, 'Ready', 1)).toBe(true);
    expect(isConditionTrue(before, 'Ready', 2)).toBe(false);
    expect(isConditionTrue(before, 'Other')).toBe(false);
  });
});

describe('owners', () => {
  const object = (kind: string, name: string, namespace?: string): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name, uid: `uid-${name}`, ...(namespace !== undefined && { namespace }) },
  });
  const owner = object('Owner', 'o', 'n');

  test('control the objects that they own', () => {
    const owned = withController(object('Thing', 't', 'n'), owner);
    expect(controllerOf(owned)).toEqual({
      apiVersion: 'v1',
      kind: 'Owner',
      name: 'o',
      uid: 'uid-o',
      controller: true,
      blockOwnerDeletion: true,
    });
    expect(isControlledBy(owned, owner)).toBe(true);
    expect(withController(owned, owner).metadata.ownerReferences).toHaveLength(1);
  });

  test('are rejected if there is another, or if they are in another namespace', () => {
    const owned = withController(object('Thing', 't', 'n'), owner);
    expect(() => withController(owned, object('Owner', 'p', 'n'))).toThrow('Thing "t" is controlled by Owner "o" already');
    expect(() => withController(object('Thing', 't', 'm'), owner)).toThrow('an owner in a namespace owns only there');
    expect(() => withController(object('Thing', 't'), owner)).toThrow('an owner in a namespace owns only there');
    expect(() => withController(object('Thing', 't', 'n'), { ...owner, metadata: { name: 'o' } })).toThrow('create it first');
  });

  test('without a namespace own objects in any namespace', () => {
    const cluster = object('Namespace', 'n');
    expect(isControlledBy(withController(object('Thing', 't', 'm'), cluster), cluster)).toBe(true);
  });
});
