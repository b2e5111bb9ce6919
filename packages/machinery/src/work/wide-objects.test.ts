import { expect, test } from 'vitest';
import { compareInParts } from '../apply/compare.ts';
import { differenceInParts, type FieldSet, unionInParts } from '../apply/field-set.ts';
import { checkObjectInParts } from '../codec/check.ts';
import type { JsonObject } from '../json.ts';
import { sameJsonInParts } from '../meta/same-json.ts';
import { builtinTypes } from '../schema/table.ts';
import type { Parts } from './parts.ts';

const configMap = builtinTypes().object('io.k8s.api.core.v1.ConfigMap');
const count = 5_000;
const fields = <Value>(prefix: string, value: Value): Record<string, Value> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, value]));
const set = (...more: readonly string[]): FieldSet => ({ ...Object.fromEntries(more.map((name) => [name, {}])), ...fields('f:k', {}) });

/** The parts of some work, and how often it lists the names of wide objects in one of them at most. */
function done(work: (wide: <Value extends object>(value: Value) => Value) => Parts<unknown>): { parts: number; listings: number } {
  let [parts, listings, most] = [0, 0, 0];
  const wide = <Value extends object>(value: Value): Value =>
    new Proxy(value, {
      ownKeys: (target) => {
        listings++;
        return Reflect.ownKeys(target);
      },
    });
  const running = work(wide);
  for (let isDone: boolean | undefined = false; isDone !== true; parts++) {
    isDone = running.next().done;
    most = Math.max(most, listings);
    listings = 0;
  }
  return { parts, listings: most };
}

// That takes milliseconds, and cannot be interrupted.
test.each<[string, Parameters<typeof done>[0]]>([
  ['checked', (wide) => checkObjectInParts({ data: wide(fields('k', 'x')), binaryData: wide(fields('b', 'YQ==')) }, configMap)],
  ['new', (wide) => compareInParts(configMap, {}, { data: wide(fields('k', 'x')) })],
  ['gone', (wide) => compareInParts(configMap, { data: wide(fields('k', 'x')) }, {})],
  ['changed', (wide) => compareInParts(configMap, { data: wide(fields('k', 'x')) }, { data: wide(fields('k', 'y')) } as JsonObject)],
  ['compared', (wide) => sameJsonInParts([wide(fields('k', 1))], [wide(fields('k', 1))])],
  ['united with another', (wide) => unionInParts({ 'f:data': wide(set()) }, { 'f:data': wide(set('f:z')) })],
  ['united with itself alone', (wide) => unionInParts({ 'f:data': wide(set()) }, { 'f:data': {} })],
  ['subtracted', (wide) => differenceInParts({ 'f:data': wide(set('.')) }, { 'f:data': wide(set()) })],
  ['subtracted from', (wide) => differenceInParts({ 'f:data': wide(set('.', 'f:z')) }, { 'f:data': { 'f:k4999': {} } })],
])('fields of a wide object that is %s are listed once in a part', (_, work) => {
  const { parts, listings } = done(work);
  expect(listings).toBe(1);
  expect(parts).toBeGreaterThan(count / 500);
});

test('a wide node that becomes a member of its set is copied in parts', () => {
  expect(done(() => unionInParts({ 'f:data': {} }, { 'f:data': set() })).parts).toBeGreaterThan(count / 500);
});
