import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FieldPath } from '../field/path.ts';
import type { Json, JsonObject } from '../json.ts';
import { whole } from '../work/parts.ts';
import { compileSchema } from './compiled.ts';
import { validateListTypes } from './list-types.ts';
import { copyJson } from './own.ts';
import { Run } from './run.ts';
import { readSchema } from './schema.ts';
import { schemaErrors } from './schema-rules.ts';
import { structuralErrors } from './structural-rules.ts';
import { Validator } from './validator.ts';

const names = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'metadata', 'kind', 'toString');

/** Keeps keys such as __proto__ as own properties. */
function objectOf(entries: [string, Json][]): JsonObject {
  return Object.fromEntries(entries) as JsonObject;
}

const { schema: schemas } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record(
      {
        type: fc.constant('string'),
        maxLength: fc.nat(3),
        pattern: fc.constantFrom('^a', 'b+'),
        enum: fc.constant(['a', 'b']),
        nullable: fc.boolean(),
        default: fc.constant('a'),
      },
      { requiredKeys: ['type'] },
    ) as fc.Arbitrary<JsonObject>,
    fc.record(
      { type: fc.constantFrom('integer', 'number'), minimum: fc.integer(), multipleOf: fc.nat(5), default: fc.nat() },
      { requiredKeys: ['type'] },
    ) as fc.Arbitrary<JsonObject>,
    fc.record({ 'x-kubernetes-int-or-string': fc.constant(true) }) as fc.Arbitrary<JsonObject>,
    fc.record({ type: fc.constant('object'), 'x-kubernetes-preserve-unknown-fields': fc.constant(true) }) as fc.Arbitrary<JsonObject>,
    fc.record(
      { type: fc.constant('array'), items: tie('schema'), maxItems: fc.nat(3), 'x-kubernetes-list-type': fc.constantFrom('atomic', 'set') },
      { requiredKeys: ['type', 'items'] },
    ) as fc.Arbitrary<JsonObject>,
    fc.record(
      { type: fc.constant('object'), additionalProperties: fc.oneof(tie('schema'), fc.constant(true)), maxProperties: fc.nat(3) },
      { requiredKeys: ['type'] },
    ) as fc.Arbitrary<JsonObject>,
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.array(fc.tuple(names, tie('schema')), { maxLength: 4 }).map(objectOf),
        required: fc.array(names, { maxLength: 2 }),
        default: fc.constant({}),
        anyOf: fc.constant([{ required: ['a'] }, { required: ['b'] }]),
      },
      { requiredKeys: ['type', 'properties'] },
    ) as fc.Arbitrary<JsonObject>,
  ),
}));

const roots = fc
  .array(fc.tuple(names, schemas), { maxLength: 5 })
  .map((entries) => ({ type: 'object', properties: objectOf(entries) }) as JsonObject);

const { value: values } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 'a', 'b', '', 'ab', 0, 1, -1, 1.5, 1e300),
    fc.array(tie('value'), { maxLength: 4 }) as fc.Arbitrary<Json>,
    fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map(objectOf),
  ),
}));

const objects = fc.array(fc.tuple(names, values), { maxLength: 5 }).map(objectOf);

const copy = (object: JsonObject): JsonObject => copyJson(object) as JsonObject;

describe('for every schema and object', () => {
  it('pruning is idempotent', () => {
    fc.assert(
      fc.property(roots, objects, (json, object) => {
        const schema = compileSchema(json);
        schema.prune(object);
        const once = copy(object);
        expect(schema.prune(object)).toEqual([]);
        expect(JSON.stringify(object)).toBe(JSON.stringify(once));
      }),
    );
  });

  it('defaulting is idempotent and removes nothing', () => {
    fc.assert(
      fc.property(roots, objects, (json, object) => {
        const schema = compileSchema(json);
        const before = Object.keys(object);
        schema.applyDefaults(object);
        const once = copy(object);
        schema.applyDefaults(object);
        expect(JSON.stringify(object)).toBe(JSON.stringify(once));
        expect(Object.keys(object)).toEqual(expect.arrayContaining(before));
      }),
    );
  });

  it('validation neither throws nor changes anything, and an object without changes in known fields stays valid', () => {
    fc.assert(
      fc.property(roots, objects, (json, object) => {
        const schema = compileSchema(json);
        const before = JSON.stringify(object);
        const asNew = schema.validate(object);
        const asChange = schema.validate(object, copy(object));
        expect(JSON.stringify(object)).toBe(before);
        expect(asChange.length).toBeLessThanOrEqual(asNew.length);
      }),
    );
  });

  it('validation of an update equals a walk that compares every old value', () => {
    fc.assert(
      fc.property(roots, objects, objects, (json, object, old) => {
        const schema = compileSchema(json);
        const walk = new Run('', true);
        new Validator(schema.schema).check(object, old, walk);
        const ofValues = schema.validate(object, old).filter(({ type }) => type !== 'FieldValueDuplicate');
        expect(ofValues).toEqual(walk.errors);
      }),
    );
  });

  it('a set or keyed list is rejected exactly if an item or its keys repeat', () => {
    const keyed = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a', 'b'], items: { type: 'object' } };
    const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: {} };
    const schema = readSchema({ type: 'object', properties: { set, keyed } } as JsonObject);
    const entries = fc.array(fc.tuple(names, values), { maxLength: 3 }).map(objectOf);
    fc.assert(
      fc.property(fc.array(values, { maxLength: 20 }), fc.array(entries, { maxLength: 20 }), (plain, items) => {
        const keys = items.map((item) => ['a', 'b'].filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]));
        const repeats = [plain, keys].some((list) => new Set(list.map((item) => JSON.stringify(item))).size < list.length);
        expect(validateListTypes({ set: plain, keyed: items }, schema).length > 0).toBe(repeats);
      }),
    );
  });

  it('nothing reaches Object.prototype', () => {
    fc.assert(
      fc.property(roots, objects, (json, object) => {
        const schema = compileSchema(json);
        schema.prune(object);
        schema.applyDefaults(object);
        schema.validate(object);
        expect(({} as JsonObject)['a']).toBeUndefined();
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
    );
  });
});

describe('for every text that decodes as a schema', () => {
  it('the checks do not throw', () => {
    fc.assert(
      fc.property(objects, (json) => {
        const compiled = compileSchema(json);
        whole(structuralErrors(compiled.schema, FieldPath.of('s')));
        whole(schemaErrors(compiled.schema, FieldPath.of('s')));
      }),
    );
  });
});
