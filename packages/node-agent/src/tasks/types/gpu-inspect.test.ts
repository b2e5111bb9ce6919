import type { GpuStatus } from '@capstan/api';
import { expect, test } from 'vitest';
import { findingOf } from './gpu-inspect.ts';

const gpu = { model: 'H100' } as NonNullable<GpuStatus['gpu']>;
const health = (state: string, reason: string, message: string) => ({ state, reason, message }) as GpuStatus['health'];

test.each([
  ['Healthy', 'Healthy', 'GPU-1: it works', 'H100: Healthy'],
  ['Failed', 'Lost', 'GPU-1: it fell off the bus', 'H100: Failed (Lost): it fell off the bus'],
  ['Failed', 'Lost', 'the driver is gone', 'H100: Failed (Lost): the driver is gone'],
])('a card that is %s is reported in few words', (state, reason, message, expected) => {
  expect(findingOf({ uuid: 'GPU-1', gpu, health: health(state, reason, message) })).toBe(expected);
});

test('a card without a model is unknown', () => {
  expect(findingOf({ uuid: 'GPU-1', health: health('Healthy', 'Healthy', '') })).toBe('unknown model: Healthy');
});
