import { describe, expect, it } from 'vitest';
import { FieldPath } from '../field/path.ts';
import type { JsonObject } from '../json.ts';
import { whole } from '../work/parts.ts';
import { defaultErrors } from './default-rules.ts';
import { readSchema } from './schema.ts';
import { schemaErrors } from './schema-rules.ts';
import { structuralErrors } from './structural-rules.ts';

function errorsOf(json: JsonObject): string[] {
  const schema = readSchema(json);
  const at = FieldPath.of('s');
  const structural = whole(structuralErrors(schema, at));
  const found = [...structural, ...(structural.length === 0 ? whole(defaultErrors(schema, at)) : []), ...whole(schemaErrors(schema, at))];
  return found.map(({ field, body }) => `${field.replace(/^s\.?/, '')}: ${body}`);
}

const x = (field: JsonObject): JsonObject => ({ type: 'object', properties: { x: field } });
const list = (more: JsonObject, item: JsonObject = { type: 'string' }): JsonObject => x({ type: 'array', items: item, ...more });

describe('the schema of a custom resource', () => {
  it.each<[string, JsonObject, string[]]>([
    ['may be an object with typed fields', x({ type: 'string' }), []],
    ['must be an object', { type: 'string' }, ['type: Invalid value: "string": must be object at the root']],
    ['must type its fields', x({}), ['properties[x].type: Required value: must not be empty for specified object fields']],
    ['must type its items', list({}, {}), ['properties[x].items.type: Required value: must not be empty for specified array items']],
    ['must specify the items of lists', x({ type: 'array' }), ['properties[x].items: Required value: must be specified']],
    [
      'knows six types',
      x({ type: 'nope' }),
      ['properties[x].type: Unsupported value: "nope": supported values: "array", "boolean", "integer", "number", "object", "string"'],
    ],
    ['may omit the type where unknown fields are preserved', x({ 'x-kubernetes-preserve-unknown-fields': true }), []],
    [
      'must not specify structure in value validations',
      x({ type: 'string', allOf: [{ type: 'string' }] }),
      ['properties[x].allOf[0].type: Forbidden: must be empty to be structural'],
    ],
    ['may declare int-or-string twice', x({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }), []],
    [
      'may only validate fields that it specifies',
      { type: 'object', anyOf: [{ properties: { y: { minLength: 1 } } }] },
      ['properties[y]: Required value: because it is defined in s.anyOf[0].properties[y]'],
    ],
    [
      'must not specify metadata',
      { type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } },
      ['properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified'],
    ],
    [
      'may restrict the name',
      { type: 'object', properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } } } },
      [],
    ],
    [
      'must have valid patterns',
      x({ type: 'string', pattern: '(' }),
      [
        'properties[x].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
      ],
    ],
    [
      'must have valid defaults',
      x({ type: 'integer', default: 'x' }),
      ['properties[x].default: Invalid value: "string":  in body must be of type integer: "string"'],
    ],
    [
      'must have defaults without unknown fields',
      x({ type: 'object', default: { a: 1 } }),
      ['properties[x].default: Invalid value: {"a":1}: must not have unknown fields'],
    ],
    [
      'must name the keys of keyed lists',
      list({ 'x-kubernetes-list-type': 'map' }, { type: 'object' }),
      ['properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map'],
    ],
    [
      'must require keys or give them a default',
      list(
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
        { type: 'object', properties: { k: { type: 'string' } } },
      ),
      [
        'properties[x].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      ],
    ],
    [
      'knows three list types',
      list({ 'x-kubernetes-list-type': 'bag' }),
      ['properties[x].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
    ],
    [
      'must not have both properties and additionalProperties',
      x({ type: 'object', properties: { y: { type: 'string' } }, additionalProperties: { type: 'string' } }),
      ['properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive'],
    ],
    [
      'must not use uniqueItems',
      list({ uniqueItems: true }),
      ['properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic'],
    ],
    ['must not refer to other schemas', x({ type: 'string', $ref: '#/y' }), ['properties[x].$ref: Forbidden: $ref is not supported']],
    [
      'must have rules that are not empty',
      x({ type: 'string', 'x-kubernetes-validations': [{ rule: ' ' }] }),
      ['properties[x].x-kubernetes-validations[0].rule: Required value: rule is not specified'],
    ],
    [
      'must have rules that point at existing fields',
      x({ type: 'object', 'x-kubernetes-validations': [{ rule: 'true', fieldPath: '.y' }] }),
      ['properties[x].x-kubernetes-validations[0].fieldPath: Invalid value: ".y": must be a valid path'],
    ],
  ])('%s', (_, json, errors) => {
    expect(errorsOf(json)).toEqual(errors);
  });
});
