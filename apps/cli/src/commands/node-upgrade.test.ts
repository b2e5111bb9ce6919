import type { GPUNode } from '@capstan/api';
import { expect, test } from 'vitest';
import { timeOfRequest } from './node-upgrade.ts';

const now = Date.parse('2026-01-01T00:00:00.500Z');

test.each([
  [undefined, '2026-01-01T00:00:00Z'],
  ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
  ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'],
  ['2026-01-01T00:00:05Z', '2026-01-01T00:00:06Z'],
])('after a request at %s, the next one is at %s', (requestedAt, expected) => {
  const node = { metadata: {}, spec: { agent: requestedAt === undefined ? {} : { requestedAt } } } as GPUNode;
  expect(timeOfRequest(node, now)).toBe(expected);
});
