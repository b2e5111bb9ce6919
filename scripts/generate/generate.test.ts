import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineKind, resourceSchemaSpec, schema } from '@capstan/api';
import { sampleKind } from '@capstan/api/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { jsonFiles, staleFiles, writeFolders } from './folders.ts';
import { generatedFolders, outputs } from './outputs.ts';
import { brokenPromises, releasedFiles } from './released.ts';

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
  test('are compared with the definitions', () => {
    writeFolders(['released'], new Map([...releasedFiles([sampleKind])].map(([name, text]) => [`released/${name}`, text])), base);
    const released = jsonFiles('released', base);
    expect([...released.values()]).toEqual([resourceSchemaSpec(sampleKind)]);
    expect(brokenPromises(released, [sampleKind])).toEqual([]);
    expect(brokenPromises(released, [])).toEqual(['turbines.sample.capstan.dev: the kind was released and is no longer defined']);
    const { group, kind, resource: plural, description } = sampleKind;
    const spec = schema.object('S.', {});
    const smaller = defineKind({ group, kind, plural, description, scope: 'Namespaced', versions: { v1alpha1: { spec } } });
    expect(brokenPromises(released, [smaller])).toContain('turbines.sample.capstan.dev: v1alpha1.spec.model: the field was removed');
  });
});
