import { expect, test } from 'vitest';
import { compareVersions, unsupported } from './support.ts';

test.each([
  ['0.1.0', '0.1.0', 0],
  ['0.1.0+abc', '0.1.0+def', 0],
  ['0.1.0', '0.2.0', -1],
  ['0.10.0', '0.9.9', 1],
  ['1.0.0', '0.99.99', 1],
  ['0.1.1+a', '0.1.0', 1],
  ['unknown', '0.1.0', 0],
])('%s against %s', (one, other, sign) => {
  expect(Math.sign(compareVersions(one, other))).toBe(sign);
});

test('an agent must be neither older than the server allows nor newer than the server', () => {
  const server = { version: '0.3.0', oldestAgent: '0.2.0' };
  expect(unsupported('0.1.9+abc', server)).toMatchObject({ reason: 'AgentTooOld' });
  expect(unsupported('0.2.0', server)).toBeUndefined();
  expect(unsupported('0.3.0+abc', server)).toBeUndefined();
  expect(unsupported('0.3.1', server)).toMatchObject({ reason: 'AgentTooNew' });
  expect(unsupported('0.1.0', {})).toBeUndefined();
});
