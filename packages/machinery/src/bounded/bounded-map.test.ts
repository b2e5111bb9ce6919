import { expect, it, vi } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

it('never holds more than its capacity', () => {
  const map = new BoundedMap<number, number>(3);
  for (let key = 0; key < 10; key++) {
    map.set(key, key);
    expect(map.size).toBeLessThanOrEqual(3);
    expect(map.get(key)).toBe(key);
  }
});

it('keeps the others when a value is replaced', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  expect([map.get('a'), map.get('b')]).toEqual([3, 2]);
});

it('computes a value once', () => {
  const map = new BoundedMap<string, string>(2);
  const compute = vi.fn(() => 'value');
  expect([map.getOrCompute('a', compute), map.getOrCompute('a', compute)]).toEqual(['value', 'value']);
  expect(compute).toHaveBeenCalledOnce();
});
