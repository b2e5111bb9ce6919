import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appInstanceKind, objectSchema } from '@capstan/api';
import { sampleKind } from '@capstan/api/testing';
import { compileSchema } from '@capstan/machinery';
import { afterAll, expect, test } from 'vitest';
import { markerFile, Quarantine, readMarker } from '../registry/quarantine.ts';
import { quarantinedRules } from './quarantined-rules.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-rules-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Whether the marker says that rules are evaluated, while they are. */
function isMarked(schema: ReturnType<typeof compileSchema>): boolean {
  using quarantine = Quarantine.open(directory, { now: () => new Date(), log: () => {} });
  let marked = false;
  const checker = {
    *check() {
      marked = readMarker(join(directory, markerFile)) !== undefined;
      yield;
      return [];
    },
  };
  const rules = quarantinedRules(() => checker, quarantine)(schema, 'kinds.example.com');
  rules!.check({} as never, {} as never).next();
  return marked;
}

test('rules of definitions can get into quarantine, and those of our own kinds cannot', () => {
  expect(isMarked(compileSchema(objectSchema(sampleKind, sampleKind.versions.v1alpha1)))).toBe(true);
  expect(isMarked(compileSchema(objectSchema(appInstanceKind, appInstanceKind.versions.v1alpha1)))).toBe(false);
});
