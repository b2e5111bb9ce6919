import {
  BadFieldReference,
  type FieldError,
  type FieldPath,
  type FieldReference,
  type Fields,
  fieldError,
  type JsonObject,
  maybeFields,
  readSchema,
  resolveFieldReference,
  type Schema,
  textOf,
} from '@capstan/machinery';

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

/** Validates printer columns. */
export function columnErrors(columns: readonly Fields[], at: FieldPath): FieldError[] {
  return columns.flatMap((column, index) => {
    const place = at.index(index);
    const errors: FieldError[] = [];
    const [type, format, path] = [textOf(column['type']), textOf(column['format']), textOf(column['jsonPath'])];
    if (textOf(column['name']) === '') errors.push(fieldError.required(place.child('name')));
    if (type === '') errors.push(fieldError.required(place.child('type'), `must be one of ${columnTypes.join(',')}`));
    else if (!columnTypes.includes(type))
      errors.push(fieldError.invalid(place.child('type'), type, `must be one of ${columnTypes.join(',')}`));
    if (format !== '' && !columnFormats.includes(format))
      errors.push(fieldError.invalid(place.child('format'), format, `must be one of ${columnFormats.join(',')}`));
    if (path === '') errors.push(fieldError.required(place.child('JSONPath')));
    else errors.push(...simplePathErrors(path, place.child('JSONPath')));
    return errors;
  });
}

function simplePathErrors(path: string, at: FieldPath): FieldError[] {
  return path.startsWith('.') ? [] : [fieldError.invalid(at, path, 'must be a simple json path starting with .')];
}

/** Validates the paths of the scale subresource. */
export function subresourceErrors(subresources: Readonly<Fields> | undefined, at: FieldPath): FieldError[] {
  const scale = maybeFields(subresources?.['scale']);
  if (scale === undefined) return [];
  const errors: FieldError[] = [];
  for (const [name, parent] of [
    ['specReplicasPath', '.spec'],
    ['statusReplicasPath', '.status'],
  ] as const) {
    const path = textOf(scale[name]);
    const place = at.child(`scale.${name}`);
    if (path === '') errors.push(fieldError.required(place));
    else if (!path.startsWith('.')) errors.push(...simplePathErrors(path, place));
    else if (!path.startsWith(`${parent}.`)) errors.push(fieldError.invalid(place, path, `should be a json path under ${parent}`));
  }
  const selector = textOf(scale['labelSelectorPath']);
  const place = at.child('scale.labelSelectorPath');
  if (selector === '') return errors;
  if (!selector.startsWith('.')) errors.push(...simplePathErrors(selector, place));
  else if (!selector.startsWith('.spec.') && !selector.startsWith('.status.'))
    errors.push(fieldError.invalid(place, selector, 'should be a json path under either .spec or .status'));
  return errors;
}

const mostSelectable = 8;

/** A selectable field must exist in the schema, hold a scalar and be outside metadata. */
export function selectableFieldErrors(fields: readonly Fields[], json: JsonObject, at: FieldPath): FieldError[] {
  if (fields.length === 0) return [];
  const schema = readSchema(json);
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, field] of fields.entries()) {
    const path = textOf(field['jsonPath']);
    const place = at.index(index).child('jsonPath');
    const reference = path === '' ? fieldError.required(place) : resolve(path, schema, place);
    if ('body' in reference) {
      errors.push(reference);
      continue;
    }
    if (reference.names[0] === 'metadata') errors.push(fieldError.invalid(place, path, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(reference.schema.type)) {
      const why = 'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      errors.push(fieldError.invalid(place, path, why));
    }
    const key = reference.path.toString();
    if (seen.has(key)) errors.push(fieldError.duplicate(place, path));
    seen.add(key);
  }
  if (seen.size > mostSelectable) errors.push(fieldError.tooMany(at, seen.size, mostSelectable));
  return errors;
}

function resolve(path: string, schema: Schema, at: FieldPath): FieldReference | FieldError {
  try {
    return resolveFieldReference(path, schema, { brackets: false });
  } catch (error) {
    if (error instanceof BadFieldReference) return fieldError.invalid(at, path, `is an invalid path: ${error.message}`);
    throw error;
  }
}
