import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import type { FieldPath } from '../field/path.ts';
import { endsPart, type Parts } from '../work/parts.ts';
import { validateEmbedded } from './embedded.ts';
import { copyJson, isMetaField } from './own.ts';
import { pruneValue } from './prune.ts';
import { Run } from './run.ts';
import type { Schema } from './schema.ts';
import { isSame } from './unchanged.ts';
import { Validator } from './validator.ts';

/** Defaults must be valid and have no unknown fields. */
export function* defaultErrors(schema: Schema, at: FieldPath): Parts<FieldError[]> {
  const errors: FieldError[] = [];
  yield* check(schema, at, errors);
  return errors;
}

function* check(schema: Schema, at: FieldPath, errors: FieldError[]): Parts<void> {
  if (endsPart()) yield;
  if (schema.default !== undefined) checkDefault(schema, at.child('default'), errors);
  if (schema.items !== undefined) yield* check(schema.items, at.child('items'), errors);
  for (const [name, property] of schema.properties) {
    // Defaults are forbidden inside apiVersion, kind and metadata.
    if (schema.embeddedResource && isMetaField(name)) continue;
    yield* check(property, at.child('properties').key(name), errors);
  }
}

function checkDefault(schema: Schema, at: FieldPath, errors: FieldError[]): void {
  const value = schema.default!;
  const pruned = copyJson(value);
  pruneValue(pruned, schema);
  if (!isSame(pruned, value)) errors.push(fieldError.invalid(at, value, 'must not have unknown fields'));
  const embedded = validateEmbedded(value, schema, at);
  if (embedded.length > 0) {
    errors.push(...embedded);
    return;
  }
  const run = new Run(at.toString(), false);
  new Validator(schema).check(value, undefined, run);
  errors.push(...run.errors);
}
