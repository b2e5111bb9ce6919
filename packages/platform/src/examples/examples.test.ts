import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test.each(['notes.ts', 'notes.test.ts'])('the guide shows %s as it is', (name) => {
  const example = readFileSync(join(import.meta.dirname, name), 'utf8')
    .replace("'../index.ts'", "'@capstan/platform'")
    .replace("'../testing/cloud.ts'", "'@capstan/platform/testing'");
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/controllers.md'), 'utf8');
  expect(guide).toContain(example);
});
