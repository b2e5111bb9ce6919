import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fillPlace, reservePlace } from './places.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'capstan-places-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const enter = (path: string): string => execFileSync('nsenter', [`--net=${path}`, 'echo', 'inside'], { encoding: 'utf8', stdio: 'pipe' });

test.runIf(process.getuid?.() === 0)('nothing can enter a place before it has its namespace', async () => {
  const path = join(folder, 'network');
  await reservePlace(path);
  expect(() => enter(path)).toThrow('Invalid argument');
  await fillPlace(path, { pid: process.pid, space: 'net' });
  expect(statSync(path).ino).toBe(statSync('/proc/self/ns/net').ino);
  expect(enter(path)).toBe('inside\n');
});
