import { isNestedTooDeep } from '../codec/depth.ts';
import { CodecError } from '../codec/error.ts';
import { jsonKind, parseJsonInParts, readTypeMeta } from '../codec/json.ts';
import * as fieldError from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import * as status from '../status/status.ts';
import type { Parts } from '../work/parts.ts';

/** How the request wants unknown fields treated. It determines Kubernetes' wording for an invalid patch. */
export interface PatchReading {
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** The patch is well-formed but cannot be applied to the object. Kubernetes does not say why. */
export const cannotApply = (): status.StatusError =>
  new status.StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  });

/** A client's mistake that Kubernetes reports as a server error. */
export const serverError = (message: string): status.StatusError => new status.StatusError({ code: 500, message });

export const cannotUnmarshal = (value: Json, target: string): string =>
  `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${target}`;

/** Parses a patch as JSON; `words` turns a syntax error into the message of a 400. */
export function* parsePatch(text: string, words: (message: string) => string): Parts<Json> {
  try {
    return yield* parseJsonInParts(text);
  } catch (error) {
    if (error instanceof CodecError) throw status.badRequest(words(error.message));
    throw error;
  }
}

/** Checks that the result of a patch is still an object. */
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

/** Operations nest values in each other, so two shallow values can make one that is too deep. */
export function* refuseTooDeep(value: Json): Parts<void> {
  if (yield* isNestedTooDeep(value)) throw tooDeep();
}

/** Runs work that recurses over a client's value, in parts. */
export function* partsWithinStack<Result>(parts: Parts<Result>): Parts<Result> {
  try {
    return yield* parts;
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
}

/** Runs an action that recurses over a client's value. Exhausting the stack is the client's mistake, not a server error. */
export function withinStack<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
}
