import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkObject } from '../codec/check.ts';
import { applySchemaDefaults } from '../codec/defaults.ts';
import type { Json, JsonObject } from '../json.ts';
import { builtinTypes } from '../schema/table.ts';
import type { AnyType, ObjectType, Scalar, Type } from '../schema/type.ts';
import { decodeMessage } from './decode.ts';
import { encodeMessage } from './encode.ts';
import { decodeProtobuf, encodeEnvelope, encodeWatchEvent } from './envelope.ts';
import { DecodeError } from './error.ts';
import { BackwardWriter } from './wire-writer.ts';

interface Recorded {
  readonly typeName: string;
  readonly json: JsonObject & { kind: string; apiVersion: string };
  readonly protobuf: string;
}

/** The same objects as kube-apiserver serves them in JSON and in protobuf. */
const recorded = JSON.parse(readFileSync(new URL('recorded.json', import.meta.url), 'utf8')) as Recorded[];
const types = builtinTypes();
const core = (name: string): ObjectType => types.object(`io.k8s.api.core.v1.${name}`);

describe("kube-apiserver's protobuf", () => {
  it.each(recorded)('of $typeName decodes to its JSON', ({ typeName, json, protobuf }) => {
    const { apiVersion, kind, raw } = decodeProtobuf(Buffer.from(protobuf, 'base64'));
    const object = { kind, apiVersion, ...decodeMessage(raw, types.object(typeName)) };
    applySchemaDefaults(object, types.object(typeName));
    expect(object).toEqual(json);
  });

  it.each(recorded)('of $typeName round-trips', ({ typeName, json }) => {
    const type = types.object(typeName);
    const { raw, ...header } = decodeProtobuf(encodeEnvelope(json, encodeMessage(json, type)));
    const object: JsonObject = { kind: header.kind, apiVersion: header.apiVersion, ...decodeMessage(raw, type) };
    applySchemaDefaults(object, type);
    expect(object).toEqual(json);
  });
});

describe('a message of many fields', () => {
  const schemas = types.object('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps');
  const manySchemas = (count: number): Buffer => encodeMessage({ items: Array.from({ length: count }, () => ({})) }, schemas);

  it('is decoded in linear time', () => {
    const { items } = decodeMessage(manySchemas(190_000), schemas);
    expect((items as Json[]).length).toBe(190_000);
  });

  it('is rejected beyond the limit', () => {
    expect(() => decodeMessage(manySchemas(200_000), schemas)).toThrow('proto: a message may have at most 200000 fields');
  });
});

describe('encoding and decoding', () => {
  const names = types.names().filter((name) => !name.endsWith('List') && !name.endsWith('.Patch'));

  it('round-trips objects of every kind', () => {
    const any = fc
      .constantFrom(...names)
      .chain((name) => fc.record({ name: fc.constant(name), object: arbitraryObject(types.object(name)) }));
    fc.assert(
      fc.property(any, ({ name, object }) => {
        const type = types.object(name);
        // Drop the empty values that Go does not print, as JSON would.
        checkObject(object, type);
        expect(decodeMessage(encodeMessage(object, type), type)).toEqual(object);
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps keys that are special in JavaScript', () => {
    const object = JSON.parse('{"data":{"__proto__":"a","constructor":"b"}}') as JsonObject;
    const again = decodeMessage(encodeMessage(object, core('ConfigMap')), core('ConfigMap'));
    expect(JSON.stringify(again)).toBe(JSON.stringify(object));
    expect(Object.getPrototypeOf(again['data'])).toBe(Object.prototype);
  });

  it('carries negative numbers and numbers of more than 32 bits', () => {
    for (const generation of [1, -1, 127, 128, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, -(2 ** 53 - 1)]) {
      const object = { metadata: { generation } };
      expect(decodeMessage(encodeMessage(object, core('Pod')), core('Pod'))).toEqual(object);
    }
  });
});

describe('a watch event', () => {
  it('is framed as kube-apiserver frames it', () => {
    const secret = recorded.find(({ json }) => json.kind === 'Secret')!;
    const envelope = Buffer.from(secret.protobuf, 'base64');
    const event = encodeWatchEvent('ADDED', envelope);
    expect(event.readUInt32BE(0)).toBe(event.length - 4);
    expect(event.subarray(4, 15)).toEqual(
      Buffer.from([0x0a, 5, ...Buffer.from('ADDED'), 0x12, envelope.length + 2, 0x0a, envelope.length]),
    );
    expect(event.subarray(15)).toEqual(envelope);
  });
});

describe('decoding hostile bytes', () => {
  const whole = Buffer.from(recorded[0]!.protobuf, 'base64');
  const { raw } = decodeProtobuf(whole);
  const bytes = (...values: number[]): Buffer => Buffer.from(values);

  it.each([
    [bytes(0x0a, 5, 1), 'unexpected EOF'],
    [bytes(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), 'proto: negative length found during unmarshaling'],
    [bytes(0x0a, 0xff, 0xff, 0xff, 0xff, 0x07), 'unexpected EOF'],
    [bytes(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), 'proto: integer overflow'],
    [bytes(0x08, 1), 'proto: wrong wireType = 0 for field Metadata'],
    [bytes(0x0a, 2, 0x08, 1), 'proto: wrong wireType = 0 for field Name'],
    [bytes(0x02), 'proto: illegal tag 0 (wire type 2)'],
    [bytes(0x7c), 'proto: unexpected end of group'],
    [bytes(0x7f), 'proto: illegal wireType 7'],
    [bytes(0x7b, 0x7b), 'unexpected EOF'],
  ])('rejects message %#', (message, why) => {
    expect(() => decodeMessage(message, core('Pod'))).toThrow(new DecodeError(why));
  });

  it.each([
    ['', 'empty data'],
    ['k8s\0', 'empty body'],
    ['{}', 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]'],
  ])('rejects an envelope of %j', (text, why) => {
    expect(() => decodeProtobuf(Buffer.from(text, 'latin1'))).toThrow(new DecodeError(why));
  });

  it('skips unknown fields and groups', () => {
    const unknown = bytes(0x78, 5, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7a, 1, 0, 0x7d, 1, 2, 3, 4, 0x7b, 0x7b, 0x78, 1, 0x7c, 0x7c);
    expect(decodeMessage(Buffer.concat([unknown, encodeMessage({ metadata: { name: 'a' } }, core('Pod'))]), core('Pod'))).toEqual({
      metadata: { name: 'a' },
    });
  });

  it('limits the nesting of messages', () => {
    const props = types.object('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps');
    const writer = new BackwardWriter();
    for (let depth = 0; depth < 100_000; depth++) writer.closeMessage(props.fields.get('not')!.proto!.number, 0);
    expect(() => decodeMessage(writer.result(), props)).toThrow('proto: messages may be nested at most 500 levels deep');
  });

  it('throws only DecodeErrors, however the bytes are cut or changed', () => {
    const change = fc.record({ at: fc.nat(raw.length - 1), byte: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 8 }), fc.nat(raw.length), (changes, length) => {
        const broken = Buffer.from(raw.subarray(0, length));
        for (const { at, byte } of changes) if (at < length) broken[at] = byte;
        expectOnlyDecodeError(() => decodeMessage(broken, core('Pod')));
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (array) => {
        expectOnlyDecodeError(() => decodeProtobuf(Buffer.concat([whole.subarray(0, 4), array])));
        expectOnlyDecodeError(() => decodeMessage(Buffer.from(array), core('Pod')));
      }),
      { numRuns: 2000 },
    );
  });
});

function expectOnlyDecodeError(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
  }
}

/** Objects of a type with any of its fields, and values in canonical form. */
function arbitraryObject(type: ObjectType, depth = 3): fc.Arbitrary<JsonObject> {
  const fields = [...type.fields.values()].filter(({ proto }) => proto !== undefined);
  if (depth === 0 || fields.length === 0) return fc.constant({});
  return fc
    .subarray(fields, { maxLength: Math.min(fields.length, 6) })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((field) => [field.name, arbitraryValue(field.type, depth - 1)]))))
    .map((object) => ({ ...object }) as JsonObject);
}

const key = fc.oneof(fc.string({ minLength: 1, maxLength: 5 }), fc.constantFrom('__proto__', 'constructor', 'a'));

function arbitraryValue(type: Type, depth: number): fc.Arbitrary<Json> {
  switch (type.kind) {
    case 'scalar':
      return scalars[type.scalar];
    case 'object':
      return arbitraryObject(type, depth);
    case 'list':
      return fc.array(arbitraryValue(type.items, depth), { minLength: 1, maxLength: 3 });
    case 'map':
      return fc
        .array(fc.tuple(key, arbitraryValue(type.values, depth)), { minLength: 1, maxLength: 3 })
        .map((pairs) => Object.fromEntries(pairs));
    case 'any':
      return arbitraryAny(type, depth);
  }
}

function arbitraryAny({ form, schema }: AnyType, depth: number): fc.Arbitrary<Json> {
  if (schema === undefined)
    return fc.dictionary(fc.constantFrom('a', 'b'), fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.boolean()));
  const one = arbitraryObject(schema, depth);
  if (form === 'schemaOrBool') return fc.oneof(fc.boolean(), one);
  const list: fc.Arbitrary<Json> =
    form === 'schemaOrArray' ? fc.array(one, { minLength: 1, maxLength: 2 }) : fc.array(fc.string(), { minLength: 1, maxLength: 2 });
  return fc.oneof(one, list);
}

const seconds = fc.integer({ min: -62_135_596_799, max: 253_402_300_799 }).map((at) => new Date(at * 1000).toISOString().slice(0, -5));

const scalars: Record<Scalar, fc.Arbitrary<Json>> = {
  string: fc.string({ unit: 'grapheme' }),
  bytes: fc.uint8Array({ maxLength: 10 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  bool: fc.boolean(),
  int32: fc.integer(),
  int64: fc.maxSafeInteger(),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }),
  time: seconds.map((text) => `${text}Z`),
  microTime: fc.tuple(seconds, fc.nat(999_999)).map(([text, micros]) => `${text}.${String(micros).padStart(6, '0')}Z`),
  duration: fc.nat(1000).map((count) => `${count}s`),
  quantity: fc
    .tuple(fc.integer({ min: 1, max: 999 }), fc.constantFrom('', 'm', 'k', 'Ki', 'Gi'))
    .map(([count, suffix]) => `${count}${suffix}`),
  intOrString: fc.oneof(fc.integer(), fc.string()),
};
