import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { definedKinds, defineKind, type KindDefinition, schema } from '@capstan/api';
import { sampleKind } from '@capstan/api/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { foldersIn, staleFiles, writeFolders } from './folders.ts';
import { generatedFolders, outputs } from './outputs.ts';
import { brokenPromises, lastRelease, recordRelease, releasedFolder, schemasOf } from './released.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'capstan-generate-'));
});
afterEach(() => rmSync(base, { recursive: true }));

const files = outputs([sampleKind]);

describe('generated files', () => {
  test('are one definition, one page, an index, the schemas of the kinds, and the REST API with its client', () => {
    expect([...files.keys()]).toEqual([
      'deploy/crds/turbines.sample.capstan.dev.yaml',
      'docs/reference/sample-turbine.md',
      'docs/reference/README.md',
      'packages/api/generated/openapi.json',
      'packages/runtime-api/generated/openapi.json',
      'packages/runtime-api/generated/client.ts',
    ]);
    expect(files.get('docs/reference/README.md')).toContain('[Turbine](sample-turbine.md)');
    expect(files.get('deploy/crds/turbines.sample.capstan.dev.yaml')).toContain('\nkind: CustomResourceDefinition\n');
  });

  test('are stale if they are missing, different or left over', () => {
    expect(staleFiles(generatedFolders, files, base)).toHaveLength(files.size);
    writeFolders(generatedFolders, files, base);
    expect(staleFiles(generatedFolders, files, base)).toEqual([]);
    writeFileSync(join(base, 'deploy/crds/old.yaml'), '');
    writeFileSync(join(base, 'docs/reference/README.md'), 'edited');
    expect(staleFiles(generatedFolders, files, base)).toEqual([
      'deploy/crds/old.yaml is generated from no definition',
      'docs/reference/README.md differs from what its definition gives',
    ]);
    writeFolders(generatedFolders, files, base);
    expect(staleFiles(generatedFolders, files, base)).toEqual([]);
    expect(readFileSync(join(base, 'docs/reference/README.md'), 'utf8')).toContain('Turbine');
  });
});

describe('the schemas of the last release', () => {
  const { object, text, integer, optional, withDefault, choice } = schema;
  const pump = (fields: Parameters<typeof object>[1]): readonly KindDefinition[] => [
    defineKind({
      group: 'sample.capstan.dev',
      kind: 'Pump',
      plural: 'pumps',
      scope: 'Namespaced',
      description: 'A pump.',
      versions: { v1alpha1: { spec: object('How it runs.', fields) } },
    }),
  ];
  const fields = {
    model: text('Its model.', { maxLength: 63 }),
    blades: optional(integer('Its blades.', { maximum: 64 })),
    mode: withDefault(choice('How it runs.', ['Idle', 'Full']), 'Idle'),
  };
  const record = (version: string, kinds: readonly KindDefinition[]): void => recordRelease({ version, schemas: schemasOf(kinds) }, base);
  const brokenBy = (kinds: readonly KindDefinition[]): string[] => brokenPromises(lastRelease(base)!.schemas, schemasOf(kinds));

  test('are kept under its version, instead of those of the release before it', () => {
    expect(lastRelease(base)).toBeUndefined();
    record('1.0.0', pump(fields));
    expect(lastRelease(base)).toEqual({ version: '1.0.0', schemas: schemasOf(pump(fields)) });
    record('1.0.0', [...pump(fields), sampleKind]);
    record('1.1.0', pump({ ...fields, colour: optional(text('Its colour.', { maxLength: 9 })) }).concat(sampleKind));
    expect(foldersIn(releasedFolder, base)).toEqual(['1.1.0']);
    expect([...lastRelease(base)!.schemas.keys()]).toEqual(['pumps.sample.capstan.dev.json', 'turbines.sample.capstan.dev.json']);
  });

  test.each<[string, Parameters<typeof object>[1], string]>([
    ['a removed field', { model: fields.model, mode: fields.mode }, '.blades: the field was removed'],
    ['a narrower type', { ...fields, model: integer('Its model.') }, '.model: the type changed from "string" to "integer"'],
    [
      'a new required field',
      { ...fields, colour: text('Its colour.', { maxLength: 9 }) },
      '.colour: the field became required and has no default',
    ],
    ['a lower maximum', { ...fields, blades: optional(integer('Its blades.', { maximum: 8 })) }, '.blades: maximum changed from 64 to 8'],
    ['fewer choices', { ...fields, mode: withDefault(choice('How it runs.', ['Full']), 'Full') }, '.mode: "Idle" left the enum'],
  ])('refuse %s by name, and the next release too', (_what, changed, change) => {
    record('1.0.0', pump(fields));
    const sentence = `pumps.sample.capstan.dev: v1alpha1.spec${change}`;
    expect(brokenBy(pump(changed))).toContain(sentence);
    expect(() => record('1.1.0', pump(changed))).toThrow(`expected schemas that accept all objects of release 1.0.0, found:\n`);
    expect(() => record('1.1.0', pump(changed))).toThrow(sentence);
    expect(foldersIn(releasedFolder, base)).toEqual(['1.0.0']);
  });

  test('refuse that a kind goes', () => {
    record('1.0.0', pump(fields));
    expect(brokenBy([])).toEqual(['pumps.sample.capstan.dev: the kind was released and is no longer defined']);
  });

  test('accept new optional fields, new fields with a default, wider limits and new kinds', () => {
    record('1.0.0', pump(fields));
    const wider = {
      ...fields,
      blades: optional(integer('Its blades.', { maximum: 128 })),
      mode: withDefault(choice('How it runs.', ['Idle', 'Half', 'Full']), 'Idle'),
      colour: optional(text('Its colour.', { maxLength: 9 })),
      age: withDefault(integer('Its age.'), 0),
    };
    expect(brokenBy([...pump(wider), sampleKind])).toEqual([]);
  });

  test('of this program are recorded: every kind that was released is still defined', () => {
    const last = lastRelease();
    expect(last?.schemas.size).toBeGreaterThan(0);
    expect(brokenPromises(last!.schemas, schemasOf(definedKinds))).toEqual([]);
  });
});
