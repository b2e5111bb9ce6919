import { expect, test } from 'vitest';
import { nodeNameOf } from './self-enrollment.ts';

test.each([
  ['gpu-1', 'gpu-1'],
  ['GPU_1.example.com', 'gpu-1'],
  ['-odd-', 'odd'],
  ['…', 'local'],
  ['', 'local'],
  ['x'.repeat(63), 'x'.repeat(58)],
])('the host %j is the node %j', (host, node) => {
  expect(nodeNameOf(host)).toBe(node);
});
