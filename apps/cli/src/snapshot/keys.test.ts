import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePki, readRotation, rotate } from '@capstan/pki';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { restoreKeys, sealKeys } from './keys.ts';

test('the keys of a snapshot include a rotation of the authority, and nothing that is no key', async () => {
  using directory = temporaryDirectory('keys');
  const [from, to] = [directory.join('from'), directory.join('to')];
  await ensurePki(from);
  await rotate(from, 'prepare', new Date());
  writeFileSync(join(from, 'notes.json'), '{}');
  restoreKeys(sealKeys(from, 'passphrase'), 'passphrase', to);
  expect(await readRotation(to)).toEqual(await readRotation(from));
  expect(statSync(join(to, 'rotation.json')).mode & 0o777).toBe(0o600);
  expect(() => readFileSync(join(to, 'notes.json'))).toThrow('ENOENT');
});
