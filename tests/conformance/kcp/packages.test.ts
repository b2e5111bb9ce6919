import { mkdirSync, writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { packagesIn } from './packages.ts';

test('finds every folder with tests, at any depth', () => {
  using directory = temporaryDirectory('packages');
  for (const [folder, file] of [
    ['virtual/apiexport', 'binding_test.go'],
    ['virtual/apiexport', 'support.go'],
    ['audit', 'audit_log_test.go'],
    ['framework', 'kcp.go'],
  ] as const) {
    mkdirSync(directory.join(folder), { recursive: true });
    writeFileSync(directory.join(`${folder}/${file}`), '');
  }
  expect(packagesIn(directory.path)).toEqual(['audit', 'virtual/apiexport']);
});
