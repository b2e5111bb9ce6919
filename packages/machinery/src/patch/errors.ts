import { isNestedTooDeep } from '../codec/depth.ts';
import { CodecError } from '../codec/error.ts';
import { jsonKind, parseJson, readTypeMeta } from '../codec/json.ts';
import * as fieldError from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import * as status from '../status/status.ts';

/** How strictly the request asked for unknown fields to be treated. It decides how Kubernetes words a patch it cannot read. */
export interface PatchReading {
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** The patch is well-formed and does not fit the object. Kubernetes does not say why. */
export const cannotApply = (): status.StatusError =>
  new status.StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  });

/** A mistake that Kubernetes answers as if it were its own. */
export const serverError = (message: string): status.StatusError => new status.StatusError({ code: 500, message });

export const cannotUnmarshal = (value: Json, target: string): string =>
  `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${target}`;

/** The JSON of a patch; `words` turns what is wrong with it into the message of a 400. */
export function parsePatch(text: string, words: (message: string) => string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof CodecError) throw status.badRequest(words(error.message));
    throw error;
  }
}

/** What a patch made of the object, which must be an object again. */
export function patchedObject(value: Json): JsonObject {
  if (isObject(value)) return value;
  let why = 'expected an object';
  try {
    readTypeMeta(value);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    why = error.message;
  }
  throw status.invalidObject({ group: '', kind: '' }, '', [fieldError.invalid(FieldPath.of('patch'), JSON.stringify(value), why)]);
}

const tooDeep = (): status.StatusError => status.badRequest('the patch or the object it is for is nested too deeply');

/** Operations put values into each other: what is shallow enough twice may be too deep once. */
export function refuseTooDeep(value: Json): void {
  if (isNestedTooDeep(value)) throw tooDeep();
}

/** Runs what follows a client's nesting level by level. Deeper than the stack is a mistake of the client, not a fault of the server. */
export function withinStack<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
}
