import { fieldsOf, isObject, type JsonObject, textOf, textsOf } from '@capstan/machinery';

/** Checks values against the part of JSON Schema that the document uses. Returns the faults, as `path: what`. */
export function faultsOf(document: JsonObject, schema: Readonly<Record<string, unknown>>, value: unknown, path = '$'): string[] {
  const target = textOf(schema['$ref']);
  if (target !== '') {
    const named = fieldsOf(fieldsOf(document['components'])['schemas'])[target.slice(target.lastIndexOf('/') + 1)];
    return named === undefined ? [`${path}: ${target} is not defined`] : faultsOf(document, fieldsOf(named), value, path);
  }
  if (Array.isArray(schema['anyOf']))
    return schema['anyOf'].some((one) => faultsOf(document, fieldsOf(one), value, path).length === 0)
      ? []
      : [`${path}: matches no alternative`];
  if (Array.isArray(schema['enum']) && !(schema['enum'] as unknown[]).includes(value))
    return [`${path}: ${JSON.stringify(value)} is not in the list`];
  const types = Array.isArray(schema['type']) ? (schema['type'] as string[]) : [textOf(schema['type'])].filter((type) => type !== '');
  if (types.length > 0 && !types.some((type) => isOfType(type, value)))
    return [`${path}: expected ${types.join(' or ')}, found ${JSON.stringify(value)}`];
  if (Array.isArray(value)) return value.flatMap((item, index) => faultsOf(document, fieldsOf(schema['items']), item, `${path}[${index}]`));
  return isObject(value) ? memberFaults(document, schema, value, path) : [];
}

function memberFaults(document: JsonObject, schema: Readonly<Record<string, unknown>>, value: JsonObject, path: string): string[] {
  const properties = fieldsOf(schema['properties']);
  const others = schema['additionalProperties'];
  const missing = textsOf(schema['required']).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${path}.${name}: is missing`),
    ...Object.entries(value).flatMap(([name, member]) => {
      if (Object.hasOwn(properties, name)) return faultsOf(document, fieldsOf(properties[name]), member, `${path}.${name}`);
      if (isObject(others)) return faultsOf(document, others, member, `${path}.${name}`);
      // A member that is not described is a fault of the document, unless it describes none at all.
      return Object.keys(properties).length === 0 ? [] : [`${path}.${name}: is not described`];
    }),
  ];
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}
