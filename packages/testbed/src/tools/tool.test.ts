import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { temporaryDirectory } from '../temporary.ts';
import { cacheDirectory } from './cache.ts';
import { handOver } from './hand-over.ts';
import { tool } from './tool.ts';

afterEach(() => vi.unstubAllEnvs());

test("keeps programs below the user's home, also if the environment has no HOME", () => {
  vi.stubEnv('XDG_CACHE_HOME', '');
  vi.stubEnv('HOME', '');
  expect(cacheDirectory()).toBe(join(userInfo().homedir, '.cache/capstan/tools'));
});

test('reports a program that cannot be built in time as missing', async () => {
  using cache = temporaryDirectory('cache');
  vi.stubEnv('XDG_CACHE_HOME', cache.path);
  expect(await tool('operator', { signal: AbortSignal.abort() })).toEqual({
    missing: 'operator is not available: never taken from PATH; Debian has no package for it; there was no time left to build it',
  });
});

test('names a cache directory that cannot be written to', async () => {
  using cache = temporaryDirectory('cache');
  writeFileSync(cache.join('file'), '');
  vi.stubEnv('XDG_CACHE_HOME', cache.join('file'));
  const { missing } = (await tool('multicluster', { signal: AbortSignal.abort() })) as { missing: string };
  expect(missing).toContain(`multicluster is not available: ${cache.join('file/capstan/tools')} cannot be written to (`);
  expect(missing).toContain('set XDG_CACHE_HOME to another directory');
});

test('reports a program that is neither found nor built as missing', async () => {
  using cache = temporaryDirectory('cache');
  vi.stubEnv('XDG_CACHE_HOME', cache.path);
  vi.stubEnv('PATH', cache.path);
  expect(await tool('openssl')).toEqual({
    missing: 'openssl is not available: not on PATH; Debian has no package for it; it is never built from source',
  });
});

test('reports a program of several Debian packages as missing without root', async () => {
  using cache = temporaryDirectory('cache');
  vi.stubEnv('XDG_CACHE_HOME', cache.path);
  vi.stubEnv('PATH', cache.path);
  const user = vi.spyOn(process as { getuid: () => number }, 'getuid').mockReturnValue(1000);
  // No other unit test asks for it, and answers are remembered.
  expect(await tool('slurm')).toEqual({
    missing: 'slurm is not available: never taken from PATH; Debian packages need root on Debian; it is never built from source',
  });
  user.mockRestore();
});

test('uses the tools that another process has found', async () => {
  const found = new Map([
    ['helm', { path: '/opt/helm' }],
    ['etcd', { missing: 'etcd is not available' }],
  ] as const);
  vi.stubEnv('CAPSTAN_TOOLS', handOver(found)['CAPSTAN_TOOLS']);
  expect(await tool('helm')).toEqual({ path: '/opt/helm' });
  expect(await tool('etcd')).toEqual({ missing: 'etcd is not available' });
});
