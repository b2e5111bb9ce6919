import { describe, expect, expectTypeOf, test } from 'vitest';
import { apiResourceSchema } from '../hashes/index.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { defineKind, type NewObjectOf, newObject, type ObjectOf } from './define-kind.ts';
import { openApiComponents } from './openapi.ts';
import { referencePage } from './reference-page.ts';
import { flag, object, optional, text } from './schema.ts';
import { sampleKind } from './testing.ts';

type Turbine = ObjectOf<typeof sampleKind>;

const parts = { group: 'sample.capstan.dev', kind: 'Thing', plural: 'things', scope: 'Cluster', description: 'A thing.' } as const;

describe('the type of a kind', () => {
  test('has the fields that the server returns, those with defaults included', () => {
    expectTypeOf<Turbine['spec']['model']>().toEqualTypeOf<string>();
    expectTypeOf<Turbine['spec']['blades']>().toEqualTypeOf<number>();
    expectTypeOf<Turbine['spec']['mode']>().toEqualTypeOf<'Idle' | 'Full'>();
    expectTypeOf<Turbine['spec']['boiler']>().toEqualTypeOf<{ readonly name: string }>();
    expectTypeOf<Turbine['spec']['tags']>().toEqualTypeOf<readonly string[] | undefined>();
    expectTypeOf<NonNullable<Turbine['spec']['pipes']>[number]>().toEqualTypeOf<{ readonly name: string; readonly width: number }>();
    expectTypeOf<NonNullable<Turbine['status']>['replicas']>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Turbine['metadata']['name']>().toEqualTypeOf<string | undefined>();
  });

  test('of new objects may lack fields with defaults, and no others', () => {
    const made = newObject(sampleKind, { metadata: { name: 'a' }, spec: { model: 'x', boiler: { name: 'b' }, pipes: [{ name: 'p' }] } });
    expect(made).toMatchObject({ apiVersion: 'sample.capstan.dev/v1alpha1', kind: 'Turbine' });
    expectTypeOf<{ metadata: object; spec: { boiler: { name: string } } }>().not.toExtend<NewObjectOf<typeof sampleKind>>();
  });

  test('has no spec if the definition has none', () => {
    const kind = defineKind({ ...parts, versions: { v1: {} } });
    expectTypeOf<ObjectOf<typeof kind>['spec']>().toEqualTypeOf<unknown>();
    expect(customResourceDefinition(kind)).not.toHaveProperty('spec.versions.0.schema.openAPIV3Schema.properties.spec');
  });
});

describe('a definition', () => {
  test('is a reference to its stored version', () => {
    const { group, version, resource, namespaced, kind } = sampleKind;
    expect({ group, version, resource, namespaced, kind }).toEqual({
      group: 'sample.capstan.dev',
      version: 'v1alpha1',
      resource: 'turbines',
      namespaced: true,
      kind: 'Turbine',
    });
  });

  test('with several versions says which one is stored', () => {
    const versions = {
      v1: { spec: object('S.', { on: flag('On.') }) },
      v1beta1: { deprecated: 'use v1', spec: object('S.', { on: flag('On.') }) },
    };
    expect(() => defineKind({ ...parts, versions })).toThrow(
      'things.sample.capstan.dev has 2 versions and does not say which one is stored',
    );
    const kind = defineKind({ ...parts, versions, storage: 'v1' });
    expectTypeOf<ObjectOf<typeof kind, 'v1beta1'>['spec']>().toEqualTypeOf<{ readonly on: boolean }>();
    expect(customResourceDefinition(kind)).toMatchObject({
      spec: {
        versions: [
          { name: 'v1', served: true, storage: true },
          { name: 'v1beta1', served: true, storage: false, deprecated: true, deprecationWarning: 'use v1' },
        ],
      },
    });
  });

  test('gives a schema whose name depends on its content', () => {
    const with1 = apiResourceSchema(defineKind({ ...parts, versions: { v1: { spec: object('S.', { a: text('A.') }) } } }));
    const with2 = apiResourceSchema(defineKind({ ...parts, versions: { v1: { spec: object('S.', { a: optional(text('A.')) }) } } }));
    expect(with1.metadata.name).toMatch(/^v[0-9a-f]{12}\.things\.sample\.capstan\.dev$/);
    expect(with2.metadata.name).not.toBe(with1.metadata.name);
    expect(apiResourceSchema(sampleKind)).toEqual(apiResourceSchema(sampleKind));
  });

  test('gives schemas of OpenAPI 3.1', () => {
    const components = openApiComponents([sampleKind]);
    expect(components).toMatchObject({
      ObjectMeta: { type: 'object' },
      Turbine: {
        required: ['apiVersion', 'kind', 'metadata', 'spec'],
        properties: { apiVersion: { const: 'sample.capstan.dev/v1alpha1' }, metadata: { $ref: '#/components/schemas/ObjectMeta' } },
      },
    });
  });

  test('says on its reference page what quotas can limit', () => {
    const amount = 'self.spec.on ? 1 : 0';
    const measures = [{ name: 'lights', description: 'things that are on', unit: 'count', words: ['light', 'lights'], amount }] as const;
    const kind = defineKind({ ...parts, measures, versions: { v1: { spec: object('S.', { on: flag('On.') }) } } });
    expect(referencePage(kind)).toContain('| `lights` | things that are on | count | `self.spec.on ? 1 : 0` |\n');
    expect(referencePage(sampleKind)).not.toContain('Measures');
  });

  test('gives a reference page', () => {
    const page = referencePage(sampleKind);
    expect(page).toContain('# Turbine\n\nA turbine, which turns steam into work.\n');
    expect(page).toContain('| Names for `kubectl` | `turbines`, `turbine`, `tb` |');
    expect(page).toContain('| `spec.blades` | integer | Number of blades. Default: `3`. At least 1. At most 64. |');
    expect(page).toContain('| `spec.mode` | string | How it runs. Default: `"Idle"`. One of `Idle`, `Full`. |');
    expect(page).toContain('| `spec.pipes[].name` | string | Name of the pipe. Required. At most 32 characters. |');
    expect(page).toContain('- It must have at least `minimumBlades` blades.');
    expect(page).toContain('- The object must have a name of at most 40 characters.');
  });
});
