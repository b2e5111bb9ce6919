import { describe, expect, test } from 'vitest';
import { type SchemaDocument, schemaPath, suggestionsAt } from './schema-completion.ts';
import { kindIn, yamlPlace } from './yaml-place.ts';

/** The place of the mark. */
const at = (text: string) => {
  const position = text.indexOf('|');
  return yamlPlace(text.replace('|', ''), position);
};

describe('the place in a text', () => {
  test.each([
    ['a field of the object', 'kind: Pod\nsp|', [], { key: undefined, typed: 'sp' }],
    ['a field in an object', 'spec:\n  a: 1\n  re|', ['spec'], { key: undefined, typed: 're' }],
    ['a field after a deeper object', 'spec:\n  a:\n    b: 1\n  |', ['spec'], { key: undefined, typed: '' }],
    ['the first field of an entry', 'spec:\n  containers:\n    - na|', ['spec', 'containers', '[]'], { key: undefined, typed: 'na' }],
    [
      'another field of an entry',
      'spec:\n  containers:\n    - name: a\n      im|',
      ['spec', 'containers', '[]'],
      { key: undefined, typed: 'im' },
    ],
    [
      'an entry at the indentation of its key',
      'spec:\n  containers:\n  - name: a\n    im|',
      ['spec', 'containers', '[]'],
      { key: undefined, typed: 'im' },
    ],
    [
      'a second entry',
      'spec:\n  containers:\n  - name: a\n    image: b\n  - na|',
      ['spec', 'containers', '[]'],
      { key: undefined, typed: 'na' },
    ],
    [
      'a list in an entry',
      'spec:\n  containers:\n  - ports:\n    - pro|',
      ['spec', 'containers', '[]', 'ports', '[]'],
      { key: undefined, typed: 'pro' },
    ],
    ['a value', 'spec:\n  running: tr|', ['spec'], { key: 'running', typed: 'tr' }],
    ['a value in an entry', 'spec:\n  ports:\n  - protocol: |', ['spec', 'ports', '[]'], { key: 'protocol', typed: '' }],
    ['after comments and empty lines', 'spec: # here\n\n  # note\n  re|', ['spec'], { key: undefined, typed: 're' }],
    ['in the second document', 'spec:\n---\nmeta|', [], { key: undefined, typed: 'meta' }],
  ])('%s', (_, text, path, { key, typed }) => {
    expect(at(text)).toEqual({ path, key, typed, from: text.indexOf('|') - typed.length });
  });

  test('is unknown inside of other values', () => {
    expect(at('spec: { a|')).toBeUndefined();
  });

  test('names the kind', () => {
    expect(kindIn('apiVersion: apps/v1\nkind: "Deployment"\nspec:\n  kind: Other')).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment' });
    expect(kindIn('kind: Pod')).toBeUndefined();
  });
});

describe('suggestions', () => {
  const document: SchemaDocument = {
    components: {
      schemas: {
        Unit: {
          type: 'object',
          'x-kubernetes-group-version-kind': [{ group: 'compute.capstan.dev', version: 'v1', kind: 'GPUUnit' }],
          properties: {
            kind: { type: 'string' },
            spec: {
              type: 'object',
              required: ['command'],
              properties: {
                command: { type: 'array', items: { type: 'string' }, description: 'The program.' },
                network: { type: 'string', enum: ['Host', 'None'], default: 'Host', description: 'Its network.' },
                running: { type: 'boolean' },
                ports: { type: 'array', items: { allOf: [{ $ref: '#/components/schemas/Port' }], default: {} } },
              },
            },
          },
        },
        Port: { type: 'object', properties: { protocol: { type: 'string', enum: ['TCP', 'UDP'] } } },
      },
    },
  };
  const type = { apiVersion: 'compute.capstan.dev/v1', kind: 'GPUUnit' };
  const suggest = (text: string) => suggestionsAt(document, type, at(text)!);

  test('are the fields of the schema, with their types and descriptions', () => {
    expect(suggest('spec:\n  |')).toEqual([
      { label: 'command', detail: 'array, required', info: 'The program.', insert: 'command:' },
      { label: 'network', detail: 'string', info: 'Its network.', insert: 'network: ' },
      { label: 'running', detail: 'boolean', info: '', insert: 'running: ' },
      { label: 'ports', detail: 'array', info: '', insert: 'ports:' },
    ]);
  });

  test('follow lists and references', () => {
    expect(suggest('spec:\n  ports:\n  - |').map(({ label }) => label)).toEqual(['protocol']);
    expect(suggest('spec:\n  ports:\n  - protocol: |').map(({ label }) => label)).toEqual(['TCP', 'UDP']);
  });

  test('are the allowed values, the default with its name', () => {
    expect(suggest('spec:\n  network: |').map(({ label, detail }) => [label, detail])).toEqual([
      ['Host', 'default'],
      ['None', ''],
    ]);
    expect(suggest('spec:\n  running: |').map(({ label }) => label)).toEqual(['true', 'false']);
  });

  test('are none where the schema ends', () => {
    expect(suggest('spec:\n  unknown:\n    |')).toEqual([]);
    expect(suggestionsAt(document, { apiVersion: 'v1', kind: 'GPUUnit' }, at('spec:\n  |')!)).toEqual([]);
  });

  test('come from the document of the group and version', () => {
    expect(schemaPath('v1')).toBe('/openapi/v3/api/v1');
    expect(schemaPath('apps/v1')).toBe('/openapi/v3/apis/apps/v1');
  });
});
