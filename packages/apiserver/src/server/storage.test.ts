import { openSqliteStore } from '@capstan/store';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test, vi } from 'vitest';
import { startTestServer } from '../testing/harness.ts';

test('a server waits for a store that is in use, if it was told to, and says so once', async () => {
  using directory = temporaryDirectory('storage');
  const store = await openSqliteStore({ directory: directory.join('store') });
  const options = { dataDirectory: directory.path };
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
