import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepTokenFile } from './token-file.ts';

test('keeps the current token in a file of its own user, through failures, and deletes it at the end', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-token-'));
  const path = join(directory, 'jobs.token');
  const stop = new AbortController();
  const lines: string[] = [];
  let answer: () => { authorization: string } = () => {
    throw new Error('no server yet');
  };
  const credentials = { current: () => answer(), refused: () => {} };
  const kept = keepTokenFile({ credentials, path, signal: stop.signal, log: (line) => lines.push(line), every: 5 });
  await expect.poll(() => lines).toEqual([`the token in ${path} cannot be renewed: no server yet`]);
  expect(existsSync(path)).toBe(false);
  for (const token of ['first', 'second']) {
    answer = () => ({ authorization: `Bearer ${token}` });
    await expect.poll(() => existsSync(path) && readFileSync(path, 'utf8')).toBe(`${token}\n`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
  stop.abort();
  await kept;
  expect(readdirSync(directory)).toEqual([]);
  expect(lines).toHaveLength(1);
  rmSync(directory, { recursive: true });
});
