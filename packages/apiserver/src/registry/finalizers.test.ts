import { expect, it } from 'vitest';
import { areSameFinalizers } from './finalizers.ts';

it.each([
  [[], [], true],
  [['a', 'b'], ['b', 'a'], true],
  [['a', 'b'], ['a'], false],
  [['a', 'b'], ['a', 'c'], false],
])('compares %j with %j in any order', (one, other, isSame) => {
  expect(areSameFinalizers(one, other)).toBe(isSame);
});

it('reads each of many finalizers once', () => {
  let reads = 0;
  const finalizers = Array.from({ length: 5_000 }, (_, index) => `example.com/${index}`);
  const get = (target: string[], key: string | symbol): unknown => {
    reads++;
    return Reflect.get(target, key);
  };
  expect(areSameFinalizers(finalizers.toReversed(), new Proxy(finalizers, { get }))).toBe(true);
  expect(reads).toBeLessThan(20_000);
});
