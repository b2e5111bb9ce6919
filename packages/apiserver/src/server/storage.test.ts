import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '@capstan/store';
import { afterAll, expect, test, vi } from 'vitest';
import { startTestServer } from '../testing/harness.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-storage-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('a server waits for a store that is in use, if it was told to, and says so once', async () => {
  const store = await openSqliteStore({ directory: join(directory, 'store') });
  const options = { dataDirectory: directory };
  await expect(startTestServer(options)).rejects.toMatchObject({ code: 'locked' });
  await expect(startTestServer({ ...options, storePatience: 1 })).rejects.toMatchObject({ code: 'locked' });
  const log: string[] = [];
  const starting = startTestServer({ ...options, storePatience: 30_000, log: (line) => void log.push(line) });
  await vi.waitFor(() => expect(log).toHaveLength(1), { timeout: 10_000 });
  await store[Symbol.asyncDispose]();
  await using server = await starting;
  expect((await server.call('/api')).code).toBe(200);
  expect(log.filter((line) => line.startsWith('waiting up to 30 s for the store: '))).toHaveLength(1);
});
