import { dump } from 'js-yaml';
import type { Json, JsonObject } from '../json.ts';
import { wire } from '../proto/wire-reader.ts';
import { BackwardWriter } from '../proto/wire-writer.ts';
import type { Part } from './parts.ts';
import type { OpenApiResource } from './resource.ts';
import { openapiV2Layout, openapiV2Parts } from './v2.ts';
import type { DocumentInfo } from './v3.ts';

/**
 * How a value of the document is encoded. `extensions`: the number for `x-` fields that the message does not have. `entries`: an object
 * whose keys are data, encoded as a list of names and values.
 */
type Shape =
  | { readonly kind: 'string' | 'bool' | 'double' | 'int64' | 'any' }
  | { readonly kind: 'message'; readonly name: string }
  | { readonly kind: 'entries'; readonly number: number; readonly value: Shape };

interface Row {
  readonly number: number;
  readonly shape: Shape;
}

const string: Shape = { kind: 'string' };
const bool: Shape = { kind: 'bool' };
const any: Shape = { kind: 'any' };
const double: Shape = { kind: 'double' };
const int64: Shape = { kind: 'int64' };
const message = (name: string): Shape => ({ kind: 'message', name });
const entries = (number: number, value: Shape): Shape => ({ kind: 'entries', number, value });

function rows(table: Record<string, [number, Shape]>): Map<string, Row> {
  return new Map(Object.entries(table).map(([key, [number, shape]]) => [key, { number, shape }]));
}

const parameterFields = rows({
  required: [1, bool],
  in: [2, string],
  description: [3, string],
  name: [4, string],
});

/** Field numbers of the openapi.v2 messages, as far as our documents use them. Extensions go into the last field. */
const messages: Record<string, { readonly fields: Map<string, Row>; readonly extensions?: number }> = {
  Document: {
    fields: rows({
      swagger: [1, string],
      info: [2, message('Info')],
      paths: [8, entries(2, message('PathItem'))],
      definitions: [9, entries(1, message('Schema'))],
      parameters: [10, entries(1, message('Parameter'))],
      security: [12, entries(1, message('StringArray'))],
      securityDefinitions: [13, entries(1, message('SecurityDefinition'))],
    }),
  },
  Info: { fields: rows({ title: [1, string], version: [2, string] }) },
  PathItem: {
    fields: rows({
      get: [2, message('Operation')],
      put: [3, message('Operation')],
      post: [4, message('Operation')],
      delete: [5, message('Operation')],
      patch: [8, message('Operation')],
      parameters: [9, message('ParametersItem')],
    }),
  },
  Operation: {
    fields: rows({
      tags: [1, string],
      operationId: [5, string],
      produces: [6, string],
      consumes: [7, string],
      parameters: [8, message('ParametersItem')],
      responses: [9, entries(1, message('ResponseValue'))],
      schemes: [10, string],
    }),
    extensions: 13,
  },
  BodyParameter: {
    fields: rows({ description: [1, string], name: [2, string], in: [3, string], required: [4, bool], schema: [5, message('Schema')] }),
  },
  QueryParameter: { fields: new Map([...parameterFields, ...rows({ type: [6, string], uniqueItems: [20, bool] })]) },
  PathParameter: { fields: new Map([...parameterFields, ...rows({ type: [5, string], uniqueItems: [19, bool] })]) },
  Reference: { fields: rows({ $ref: [1, string] }) },
  Response: { fields: rows({ description: [1, string], schema: [2, message('SchemaItem')] }) },
  ApiKeySecurity: { fields: rows({ type: [1, string], name: [2, string], in: [3, string], description: [4, string] }) },
  Schema: {
    fields: rows({
      $ref: [1, string],
      format: [2, string],
      title: [3, string],
      description: [4, string],
      default: [5, any],
      multipleOf: [6, double],
      maximum: [7, double],
      exclusiveMaximum: [8, bool],
      minimum: [9, double],
      exclusiveMinimum: [10, bool],
      maxLength: [11, int64],
      minLength: [12, int64],
      pattern: [13, string],
      maxItems: [14, int64],
      minItems: [15, int64],
      uniqueItems: [16, bool],
      maxProperties: [17, int64],
      minProperties: [18, int64],
      required: [19, string],
      enum: [20, any],
      additionalProperties: [21, message('AdditionalProperties')],
      type: [22, message('StringArray')],
      items: [23, message('Items')],
      allOf: [24, message('Schema')],
      properties: [25, entries(1, message('Schema'))],
      example: [30, any],
    }),
    extensions: 31,
  },
};

/** Messages that only choose between others: the field numbers around the value, and the value's own shape. */
function unwrap(name: string, value: Json): { path: number[]; shape: Shape } | undefined {
  const object = value as JsonObject;
  switch (name) {
    case 'ParametersItem':
      return object['$ref'] === undefined ? { path: [1], shape: message('Parameter') } : { path: [2], shape: message('Reference') };
    case 'Parameter':
      if (object['in'] === 'body') return { path: [1], shape: message('BodyParameter') };
      return object['in'] === 'query'
        ? { path: [2, 3], shape: message('QueryParameter') }
        : { path: [2, 4], shape: message('PathParameter') };
    case 'ResponseValue':
      return { path: [1], shape: message('Response') };
    case 'SecurityDefinition':
      return { path: [2], shape: message('ApiKeySecurity') };
    case 'AdditionalProperties':
      return typeof value === 'boolean' ? { path: [2], shape: bool } : { path: [1], shape: message('Schema') };
    case 'StringArray':
      return { path: [1], shape: string };
    case 'SchemaItem':
    case 'Items':
      return { path: [1], shape: message('Schema') };
    default:
      return undefined;
  }
}

/** The document in pieces, in the protobuf form that client-go requests (`com.github.proto-openapi.spec.v2@v1.0+protobuf`). */
export function* openapiV2Protobuf(resources: Iterable<OpenApiResource>, info: DocumentInfo): Generator<Buffer> {
  const { before, after } = openapiV2Layout(info);
  yield documentBytes(before);
  // A message begins with its length, so its entries are held until the last one is known.
  let section: Part['section'] = 'paths';
  let entriesOfSection: Buffer[] = [];
  for (const part of openapiV2Parts(resources)) {
    if (part.section !== section) {
      yield* sectionBytes(section, entriesOfSection);
      section = part.section;
      entriesOfSection = [];
    }
    entriesOfSection.push(entryBytes(part));
    yield Buffer.alloc(0);
  }
  yield* sectionBytes(section, entriesOfSection);
  yield documentBytes(after);
}

function documentBytes(document: JsonObject): Buffer {
  const writer = new BackwardWriter();
  writeMessage(writer, 'Document', document);
  return writer.result();
}

function rowOf(section: Part['section']): { number: number; entry: number; value: Shape } {
  const { number, shape } = messages['Document']!.fields.get(section === 'paths' ? 'paths' : 'definitions')!;
  const { number: entry, value } = shape as Shape & { kind: 'entries' };
  return { number, entry, value };
}

function entryBytes({ section, name, value }: Part): Buffer {
  const { entry, value: shape } = rowOf(section);
  const writer = new BackwardWriter();
  writeEntry(writer, entry, { key: name, value, shape });
  return Buffer.from(writer.result());
}

function* sectionBytes(section: Part['section'], parts: readonly Buffer[]): Generator<Buffer> {
  const writer = new BackwardWriter();
  writer.varint(parts.reduce((sum, { length }) => sum + length, 0));
  writer.tag(rowOf(section).number, wire.bytes);
  yield writer.result();
  yield* parts;
}

function writeMessage(writer: BackwardWriter, name: string, value: Json): void {
  const choice = unwrap(name, value);
  if (choice !== undefined) {
    writeWrapped(writer, choice.path, { value, shape: choice.shape });
    return;
  }
  const { fields, extensions } = messages[name]!;
  const known: [Row, Json][] = [];
  for (const [key, inner] of Object.entries(value as JsonObject).reverse()) {
    const row = fields.get(key);
    if (row !== undefined) known.push([row, inner]);
    else if (extensions !== undefined && key.startsWith('x-')) writeEntry(writer, extensions, { key, value: inner, shape: any });
  }
  for (const [{ number, shape }, inner] of known.sort(([a], [b]) => b.number - a.number))
    writeField(writer, number, { value: inner, shape });
}

interface Shaped {
  readonly value: Json;
  readonly shape: Shape;
}

function writeWrapped(writer: BackwardWriter, [number, ...rest]: number[], shaped: Shaped): void {
  if (rest.length === 0) {
    writeField(writer, number!, shaped);
    return;
  }
  const from = writer.length;
  writeWrapped(writer, rest, shaped);
  writer.closeMessage(number!, from);
}

function writeField(writer: BackwardWriter, number: number, { value, shape }: Shaped): void {
  if (Array.isArray(value) && shape.kind === 'message' && shape.name === 'StringArray') writeOne(writer, number, { value, shape });
  else if (Array.isArray(value)) for (const item of value.toReversed()) writeOne(writer, number, { value: item, shape });
  else writeOne(writer, number, { value, shape });
}

function writeOne(writer: BackwardWriter, number: number, { value, shape }: Shaped): void {
  const from = writer.length;
  switch (shape.kind) {
    case 'string':
      writer.string(value as string);
      writer.tag(number, wire.bytes);
      return;
    case 'bool':
      writer.varint(value === true ? 1 : 0);
      writer.tag(number, wire.varint);
      return;
    case 'int64':
      writer.varint(value as number);
      writer.tag(number, wire.varint);
      return;
    case 'double':
      writer.double(value as number);
      writer.tag(number, wire.fixed64);
      return;
    case 'any':
      writer.string(asYaml(value));
      writer.tag(2, wire.bytes);
      break;
    case 'message':
      writeMessage(writer, shape.name, value);
      break;
    case 'entries':
      for (const [key, inner] of Object.entries(value as JsonObject).reverse())
        writeEntry(writer, shape.number, { key, value: inner, shape: shape.value });
  }
  writer.closeMessage(number, from);
}

/** YAML in Kubernetes' layout. Common one-word values such as `map` need no printer. */
function asYaml(value: Json): string {
  if (typeof value === 'boolean' || (typeof value === 'string' && commonWords.has(value))) return `${value}\n`;
  return dump(value, { sortKeys: true, seqNoIndent: true, quoteStyle: 'double', lineWidth: -1 });
}

const commonWords: ReadonlySet<string> = new Set([
  'get',
  'list',
  'post',
  'put',
  'patch',
  'delete',
  'deletecollection',
  'watch',
  'map',
  'atomic',
  'set',
  'merge',
]);

function writeEntry(writer: BackwardWriter, number: number, { key, value, shape }: Shaped & { readonly key: string }): void {
  const from = writer.length;
  writeOne(writer, 2, { value, shape });
  writer.string(key);
  writer.tag(1, wire.bytes);
  writer.closeMessage(number, from);
}
