import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MemorySecrets, openSecretStore } from './store.ts';

const secrets = { env: { TOKEN: 'hidden' }, pullConfig: '{}' };
let inMemory: string;
let onDisk: string;
beforeEach(() => {
  inMemory = mkdtempSync('/dev/shm/capstan-test-');
  onDisk = mkdtempSync(join(tmpdir(), 'capstan-secrets-'));
});
afterEach(() => {
  rmSync(inMemory, { recursive: true });
  rmSync(onDisk, { recursive: true });
});

describe('secrets of units', () => {
  test('survive the agent in memory, for its user only', async () => {
    await (await openSecretStore('/state', [inMemory])).put('u-1', secrets);
    const [folder] = readdirSync(inMemory);
    expect(statSync(join(inMemory, folder!)).mode & 0o777).toBe(0o700);
    expect(statSync(join(inMemory, folder!, 'u-1')).mode & 0o777).toBe(0o600);
    const again = await openSecretStore('/state', [inMemory]);
    expect(await again.get('u-1')).toEqual(secrets);
    expect(await (await openSecretStore('/another', [inMemory])).get('u-1')).toBeUndefined();
    await again.remove('u-1');
    expect(await again.get('u-1')).toBeUndefined();
  });

  test('are never on a disk', async () => {
    const store = await openSecretStore('/state', [onDisk]);
    const isDisk = statSync(onDisk).dev !== statSync('/dev/shm').dev;
    expect(store instanceof MemorySecrets).toBe(isDisk);
    await store.put('u-1', secrets);
    expect(await store.get('u-1')).toEqual(secrets);
    if (isDisk) expect(readdirSync(onDisk)).toEqual([]);
  });

  test('are not written where a link leads elsewhere', async () => {
    const target = join(onDisk, 'target');
    mkdirSync(target);
    symlinkSync(target, join(inMemory, 'link'));
    expect(await openSecretStore('/state', [join(inMemory, 'link')])).toBeInstanceOf(MemorySecrets);
    expect(readdirSync(target)).toEqual([]);
  });
});
