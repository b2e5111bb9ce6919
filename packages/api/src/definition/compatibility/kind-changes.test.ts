import type { JsonObject } from '@capstan/machinery/objects';
import { describe, expect, test } from 'vitest';
import { immutable, intOrString } from '../common.ts';
import { defineKind, type KindVersion } from '../define-kind.ts';
import { resourceSchemaSpec } from '../resource-schema.ts';
import {
  anything,
  choice,
  decimal,
  type Fields,
  flag,
  integer,
  keyedList,
  list,
  map,
  object,
  optional,
  raw,
  set,
  text,
  withDefault,
} from '../schema.ts';
import { sampleKind } from '../testing.ts';
import { kindChanges } from './kind-changes.ts';

const parts = { group: 'sample.capstan.dev', kind: 'Thing', plural: 'things', scope: 'Cluster', description: 'A thing.' } as const;
const specOf = (versions: Readonly<Record<string, KindVersion>>, storage: string): JsonObject =>
  resourceSchemaSpec(defineKind({ ...parts, versions, storage }));
const withFields = (fields: Fields): JsonObject => specOf({ v1: { spec: object('S.', fields) } }, 'v1');
const changes = (old: Fields, now: Fields): string[] => kindChanges(withFields(old), withFields(now));

const word = text('W.');
const item = object('I.', { name: word, zone: word });

describe('a change of a schema is refused if', () => {
  const cases: readonly [string, Fields, Fields, string][] = [
    ['a field is removed', { a: word, b: optional(word) }, { a: word }, 'v1.spec.b: the field was removed'],
    ['a type changes', { a: word }, { a: flag('F.') }, 'v1.spec.a: the type changed from "string" to "boolean"'],
    ['a number becomes an integer', { a: decimal('D.') }, { a: integer('I.') }, 'the type changed from "number" to "integer"'],
    [
      'null is no longer allowed',
      { a: raw({ type: 'string', nullable: true }) },
      { a: raw({ type: 'string' }) },
      'null is no longer allowed',
    ],
    ['an optional field becomes required', { a: optional(word) }, { a: word }, 'v1.spec.a: the field became required and has no default'],
    ['a new field is required', {}, { a: word }, 'v1.spec.a: the field became required and has no default'],
    [
      'a required field loses its default',
      { a: raw({ type: 'string', default: 'x' }) },
      { a: word },
      'v1.spec.a: the field became required',
    ],
    ['an enum is added', { a: word }, { a: choice('C.', ['x']) }, 'v1.spec.a: an enum was added'],
    ['an enum loses a value', { a: choice('C.', ['x', 'y']) }, { a: choice('C.', ['y', 'z']) }, 'v1.spec.a: "x" left the enum'],
    ['a minimum rises', { a: integer('I.', { minimum: 1 }) }, { a: integer('I.', { minimum: 2 }) }, 'minimum changed from 1 to 2'],
    ['a maximum falls', { a: integer('I.', { maximum: 2 }) }, { a: integer('I.', { maximum: 1 }) }, 'maximum changed from 2 to 1'],
    ['a maximum is added', { a: integer('I.') }, { a: integer('I.', { maximum: 1 }) }, 'maximum changed from none to 1'],
    [
      'a limit becomes exclusive',
      { a: raw({ type: 'integer', minimum: 1 }) },
      { a: raw({ type: 'integer', minimum: 1, exclusiveMinimum: true }) },
      'exclusiveMinimum was added',
    ],
    [
      'a multiple is added',
      { a: integer('I.', { multipleOf: 2 }) },
      { a: integer('I.', { multipleOf: 4 }) },
      'multipleOf changed from 2 to 4',
    ],
    ['a text must be longer', { a: word }, { a: text('W.', { minLength: 1 }) }, 'minLength changed from none to 1'],
    ['a text must be shorter', { a: text('W.', { maxLength: 9 }) }, { a: text('W.', { maxLength: 8 }) }, 'maxLength changed from 9 to 8'],
    ['a list must have more items', { a: list('L.', word) }, { a: list('L.', word, { minItems: 1 }) }, 'minItems changed from none to 1'],
    [
      'a list must have fewer items',
      { a: list('L.', word, { maxItems: 2 }) },
      { a: list('L.', word, { maxItems: 1 }) },
      'maxItems changed from 2 to 1',
    ],
    [
      'a map must have fewer entries',
      { a: map('M.', word) },
      { a: map('M.', word, { maxProperties: 1 }) },
      'maxProperties changed from none to 1',
    ],
    ['a pattern changes', { a: text('W.', { pattern: 'a' }) }, { a: text('W.', { pattern: 'b' }) }, 'pattern changed from "a" to "b"'],
    ['a format is added', { a: word }, { a: text('W.', { format: 'date-time' }) }, 'the format changed from none to "date-time"'],
    [
      'a format becomes narrower',
      { a: integer('I.') },
      { a: integer('I.', { format: 'int32' }) },
      'the format changed from "int64" to "int32"',
    ],
    ['alternatives change', { a: word }, { a: raw({ type: 'string', oneOf: [{ maxLength: 1 }] }) }, 'oneOf changed from none'],
    [
      'the type of a list changes',
      { a: list('L.', word) },
      { a: set('L.', word) },
      'x-kubernetes-list-type changed from "atomic" to "set"',
    ],
    [
      'the keys of a list change',
      { a: keyedList('L.', item, { keys: ['name'] }) },
      { a: keyedList('L.', item, { keys: ['name', 'zone'] }) },
      'x-kubernetes-list-map-keys changed',
    ],
    [
      'an object becomes atomic',
      { a: object('O.', {}) },
      { a: object('O.', {}, { atomic: true }) },
      'x-kubernetes-map-type changed from none to "atomic"',
    ],
    ['a map becomes an object', { a: map('M.', word) }, { a: object('O.', {}) }, 'additionalProperties was removed'],
    ['the values of a map change', { a: map('M.', word) }, { a: map('M.', flag('F.')) }, 'v1.spec.a.*: the type changed'],
    ['the items of a list change', { a: list('L.', word) }, { a: list('L.', flag('F.')) }, 'v1.spec.a[]: the type changed'],
    ['an open object is closed', { a: anything('A.') }, { a: object('O.', {}) }, 'x-kubernetes-preserve-unknown-fields was removed'],
    [
      'a field of an open object gets a schema',
      { a: anything('A.') },
      { a: raw({ type: 'object', properties: { b: { type: 'string' } }, 'x-kubernetes-preserve-unknown-fields': true }) },
      'fields that could have any value now have a schema',
    ],
    ['a number is no longer allowed', { a: intOrString('I.') }, { a: word }, 'x-kubernetes-int-or-string was removed'],
    [
      'a rule is added',
      { a: word },
      { a: text('W.', { rules: [{ rule: "self != 'x'", message: 'must not be x' }] }) },
      `the rule "self != 'x'" was added`,
    ],
    [
      'a rule gets a condition',
      { a: text('W.', { rules: [{ rule: "self != 'x'", message: 'no' }] }) },
      { a: text('W.', { rules: [{ rule: "self != 'x' && self != 'y'", message: 'no' }] }) },
      'was added',
    ],
    [
      'an alternative of a rule decides about the whole',
      { a: text('W.', { rules: [{ rule: "self != 'x'", message: 'no' }] }) },
      { a: text('W.', { rules: [{ rule: "self != 'x' || self != 'y' ? false : true", message: 'no' }] }) },
      'was added',
    ],
  ];
  test.each(cases)('%s', (_what, old, now, message) => {
    expect(changes(old, now).join('\n')).toContain(message);
  });

  test('nothing, if a rule gets an alternative', () => {
    const withRule = (rule: string) => ({ a: text('W.', { rules: [{ rule, message: 'no' }] }) });
    expect(changes(withRule("self != 'x'"), withRule("self != 'x' || self != 'y'"))).toEqual([]);
  });

  test('a rule ties a field to a value of an enum that objects may have, or of a field that they may lack', () => {
    const rules = [{ rule: "(self.a == 'y') == has(self.b)", message: 'no' }];
    const spec = (fields: Fields, more: object = {}) => specOf({ v1: { spec: object('S.', fields, more) } }, 'v1');
    const [x, both] = [choice('C.', ['x']), choice('C.', ['x', 'y'])];
    const now = spec({ a: both, b: optional(word) }, { rules });
    const added = ['v1.spec: the rule "(self.a == \'y\') == has(self.b)" was added'];
    expect(kindChanges(spec({ a: x }), now)).toEqual([]);
    expect(kindChanges(spec({ a: both }), now)).toEqual(added);
    expect(kindChanges(spec({ a: x, b: optional(word) }), now)).toEqual(added);
    expect(kindChanges(spec({ a: optional(x) }), spec({ a: optional(both), b: optional(word) }, { rules }))).toEqual(added);
  });

  test('a version is removed, or no longer served, without a release in which it was deprecated', () => {
    const version = { spec: object('S.', { a: word }) };
    const both = specOf({ v1: version, v1beta1: version }, 'v1');
    expect(kindChanges(both, specOf({ v1: version }, 'v1'))).toEqual([
      'v1beta1: the version was removed; deprecate it for one release first',
    ]);
    expect(kindChanges(both, specOf({ v1: version, v1beta1: { ...version, served: false } }, 'v1'))).toEqual([
      'v1beta1: the version is no longer served; deprecate it for one release first',
    ]);
    const deprecated = specOf({ v1: version, v1beta1: { ...version, deprecated: 'use v1' } }, 'v1');
    expect(kindChanges(deprecated, specOf({ v1: version }, 'v1'))).toEqual([]);
    const stored = specOf({ v1: version, v1beta1: { ...version, deprecated: 'use v1' } }, 'v1beta1');
    expect(kindChanges(stored, specOf({ v1: version }, 'v1'))).toHaveLength(1);
  });

  test('another version is stored that does not accept the stored objects', () => {
    const v1beta1 = { spec: object('S.', { a: word, b: optional(word) }) };
    const old = specOf({ v1beta1 }, 'v1beta1');
    const now = specOf({ v1: { spec: object('S.', { a: word }) }, v1beta1 }, 'v1');
    expect(kindChanges(old, now)).toEqual(['objects stored as v1beta1, read as v1.spec.b: the field was removed']);
  });

  test('the scope, the kind or a subresource changes', () => {
    const old = withFields({});
    expect(kindChanges(old, { ...old, scope: 'Namespaced' })).toEqual(['the scope changed from Cluster to Namespaced']);
    expect(kindChanges(old, { ...old, names: { kind: 'Other' } })).toEqual(['the kind changed from Thing to Other']);
    const status = specOf({ v1: { spec: object('S.', {}), status: object('T.', {}) } }, 'v1');
    expect(kindChanges(status, old)).toContain('v1: the subresource status was removed');
  });
});

describe('a change of a schema is accepted if', () => {
  const cases: readonly [string, Fields, Fields][] = [
    ['nothing changes', { a: word }, { a: word }],
    ['a description changes', { a: word }, { a: text('Other words.') }],
    ['an optional field is added', {}, { a: optional(word) }],
    ['a field with a default is added', {}, { a: withDefault(word, 'x') }],
    ['a required field becomes optional', { a: word }, { a: optional(word) }],
    ['a default changes', { a: withDefault(word, 'x') }, { a: withDefault(word, 'y') }],
    ['an integer becomes a number', { a: integer('I.') }, { a: raw({ type: 'number' }) }],
    ['an integer may be longer', { a: integer('I.', { format: 'int32' }) }, { a: integer('I.') }],
    ['an enum gets a value', { a: choice('C.', ['x']) }, { a: choice('C.', ['x', 'y']) }],
    [
      'limits are relaxed',
      { a: integer('I.', { minimum: 2, maximum: 3, multipleOf: 4 }) },
      { a: integer('I.', { minimum: 1, multipleOf: 2 }) },
    ],
    ['a pattern is removed', { a: text('W.', { pattern: 'a' }) }, { a: word }],
    ['a rule is removed', { a: text('W.', { rules: [{ rule: 'true', message: 'm' }] }) }, { a: word }],
    ['a rule forbids changes', { a: word }, { a: text('W.', { rules: [immutable] }) }],
    ['a new object has required fields', {}, { a: optional(object('O.', { b: word })) }],
  ];
  test.each(cases)('%s', (_what, old, now) => {
    expect(changes(old, now)).toEqual([]);
  });

  test('the kind is the same', () => {
    expect(kindChanges(resourceSchemaSpec(sampleKind), resourceSchemaSpec(sampleKind))).toEqual([]);
  });
});
