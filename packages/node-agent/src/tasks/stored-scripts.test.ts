import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@capstan/client';
import { afterAll, expect, test } from 'vitest';
import { StoredScripts } from './stored-scripts.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-scripts-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('tasks that run the same script at once all get the whole of it', async () => {
  const content = `#!/bin/sh\n${'# padding\n'.repeat(10_000)}`;
  const client = { resource: () => ({ get: async () => ({ spec: { content } }) }) } as unknown as Client;
  const scripts = new StoredScripts({ client, directory });
  const files = await Promise.all(Array.from({ length: 20 }, () => scripts.find('same')));
  expect(new Set(files).size).toBe(1);
  expect(readFileSync(files[0]!, 'utf8')).toBe(content);
});
