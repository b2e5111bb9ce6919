import { expect, test } from 'vitest';
import { emptyOffering, faultIn, offeringOf } from './draft.ts';

const good = { ...emptyOffering, name: 'h100-4', gpus: 4, model: 'H100' };

test.each([
  [{ name: 'H100' }, 'name'],
  [{ memory: 'much' }, 'memory'],
  [{ gpus: 0 }, 'Offer'],
])('%j is wrong', (change, words) => expect(faultIn({ ...good, ...change })).toContain(words));

test('a complete draft is right', () => {
  expect(faultIn(good)).toBeUndefined();
  expect(faultIn({ ...good, gpus: 0, cpu: '1' })).toBeUndefined();
});

test('becomes an offering without anything that was left empty', () => {
  expect(offeringOf({ ...good, isLinked: true }).spec).toEqual({ gpu: { model: 'H100', count: 4, nvlink: 'Required' } });
  expect(offeringOf({ ...good, gpus: 0, cpu: '1', memory: '1Gi' }).spec).toEqual({ cpu: '1', memory: '1Gi' });
});

test('a whole node has all of its cores and memory', () => {
  expect(offeringOf({ ...good, isWhole: true, cpu: '1' }).spec).toEqual({ gpu: { model: 'H100', count: 4 }, exclusive: true });
});
