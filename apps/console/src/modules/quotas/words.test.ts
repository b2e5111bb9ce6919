import { expect, test } from 'vitest';
import { limitsWords, modelsIn } from './words.ts';

test('says what is limited', () => {
  expect(limitsWords({ models: { H100: 8 }, allocations: 3, memory: '1Ti' })).toBe('8 H100, 1Ti of memory, 3 allocations');
});

test('reads models with their numbers', () => {
  expect(modelsIn('H100=8, H200 = 4')).toEqual({ H100: 8, H200: 4 });
  expect(modelsIn('')).toEqual({});
  expect(modelsIn('H100')).toBeUndefined();
});
