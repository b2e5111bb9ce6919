import { expect, test } from 'vitest';
import { compareVersions, findVersion, versionFits } from './version.ts';

test.each([
  ['Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0', '1.32.4'],
  ['v3.22.0+gabc', '3.22.0'],
  ['etcd Version: 3.5.35\nGit SHA: x', '3.5.35'],
  ['no version here', undefined],
])('finds, in %j, the version %s', (text, version) => {
  expect(findVersion(text)).toBe(version);
});

test('compares versions as numbers, not as text', () => {
  expect(compareVersions('3.10.0', '3.9.1')).toBeGreaterThan(0);
  expect(compareVersions('3.5.0', '3.5.0')).toBe(0);
  expect(compareVersions('2.99.99', '3.0.0')).toBeLessThan(0);
});

test('accepts versions from the lower bound up to, but excluding, the upper bound', () => {
  const bounds = { atLeast: '3.0.0', below: '4.0.0' };
  expect(['2.9.9', '3.0.0', '3.99.0', '4.0.0'].map((version) => versionFits(version, bounds))).toEqual([false, true, true, false]);
  expect(versionFits(undefined, bounds)).toBe(false);
});
