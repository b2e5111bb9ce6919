import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('the guide shows the example as it is', () => {
  const example = readFileSync(join(import.meta.dirname, 'team-notes.ts'), 'utf8').replace("'../index.ts'", "'@capstan/controller'");
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/controllers.md'), 'utf8');
  expect(guide).toContain(example);
});
