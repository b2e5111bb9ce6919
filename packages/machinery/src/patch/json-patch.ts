import { cloneJson, cloneJsonInParts, jsonEqual, own, setOwn } from '../apply/shape.ts';
import { jsonKind } from '../codec/json.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import * as status from '../status/status.ts';
import { type Parts, whole } from '../work/parts.ts';
import { countSteps, limitSteps, OutOfSteps, spend } from '../work/steps.ts';
import {
  cannotApply,
  cannotUnmarshal,
  type PatchReading,
  parsePatch,
  partsWithinStack,
  patchedObject,
  refuseTooDeep,
  withinStack,
} from './errors.ts';

const mostOperations = 10_000;
/** Operations move items of long lists and compare large values: ten thousand of them could take minutes. */
const mostSteps = 5_000_000;
/** Moving an item of a list to make room for another is quick. */
const itemsMovedPerStep = 8;

/** Copies double the size, so a few could fill the memory. */
const mostCopiedBytes = 3 * 1024 * 1024;

/**
 * JSON patch (RFC 6902) with Kubernetes' deviations: indexes may count from the end, and missing values read as null. Does not change the
 * object. Throws a StatusError: 400 for a malformed patch, 413 for too many operations, 422 for one that cannot be applied.
 */
export function jsonPatch(object: JsonObject, text: string, reading: PatchReading = {}): JsonObject {
  return whole(jsonPatchInParts(object, text, reading));
}

/** The same in parts, between which others may run. Nothing may change the object meanwhile. */
export function* jsonPatchInParts(object: JsonObject, text: string, reading: PatchReading = {}): Parts<JsonObject> {
  const operations = yield* readOperations(text, reading);
  if (operations.length > mostOperations) {
    throw status.requestTooLarge(`The allowed maximum operations in a JSON patch is ${mostOperations}, got ${operations.length}`);
  }
  yield;
  return yield* partsWithinStack(applied(object, operations));
}

/** How many steps are taken in one part, and how many an operation takes at least, since not all that it does is counted. */
const stepsPerPart = 50_000;
const fewestSteps = 250;

function* applied(object: JsonObject, operations: readonly JsonObject[]): Parts<JsonObject> {
  const document: Document = { root: yield* cloneJsonInParts(object), copied: 0 };
  yield;
  let left = mostSteps;
  let leftInPart = stepsPerPart;
  for (const operation of operations) {
    const steps = withinSteps(left, () => apply(document, operation));
    left -= steps;
    leftInPart -= Math.max(steps, fewestSteps);
    if (leftInPart > 0) continue;
    leftInPart = stepsPerPart;
    yield;
  }
  yield;
  yield* refuseTooDeep(document.root);
  return patchedObject(document.root);
}

/** Returns the steps that were taken. */
function withinSteps(most: number, work: () => void, refusal: () => Error = tooMuch): number {
  try {
    return countSteps(() => limitSteps(most, work)).steps;
  } catch (error) {
    throw error instanceof OutOfSteps ? refusal() : error;
  }
}

const tooMuch = (): Error =>
  status.requestTooLarge('The operations of the JSON patch move or compare too much; use fewer operations, or a merge patch');

/** An operation that cannot be applied. `document` is the object before the operation. */
export class UnfitOperation extends Error {
  override readonly name = 'UnfitOperation';
  readonly operation: JsonObject;
  readonly document: Json;

  constructor(operation: JsonObject, document: Json) {
    super(`the operation does not fit the object: ${JSON.stringify(operation)}`);
    this.operation = operation;
    this.document = document;
  }
}

/** The same for parsed operations, for callers with their own error messages. Throws an `UnfitOperation`. */
export function applyOperations(object: JsonObject, operations: readonly JsonObject[]): Json {
  if (operations.length > mostOperations) throw new UnfitOperation(operations[mostOperations]!, object);
  return withinStack(() => {
    const document: Document = { root: cloneJson(object), copied: 0 };
    let current = operations[0];
    const unfit = (): Error => new UnfitOperation(current!, document.root);
    const run = (): void => {
      for (const operation of operations) {
        current = operation;
        try {
          apply(document, operation);
        } catch (error) {
          throw error instanceof status.StatusError ? unfit() : error;
        }
      }
    };
    withinSteps(mostSteps, run, unfit);
    whole(refuseTooDeep(document.root));
    return document.root;
  });
}

function* readOperations(text: string, { fieldValidation = 'Warn' }: PatchReading): Parts<JsonObject[]> {
  const ignored = fieldValidation === 'Ignore';
  const words = (message: string): string => (ignored ? message : `error decoding patch: ${message}`);
  const patch = yield* parsePatch(text, words);
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw status.badRequest(words(cannotUnmarshal(patch, ignored ? 'jsonpatch.Patch' : '[]handlers.jsonPatchOp')));
  return patch.map((operation) => {
    if (operation === null) return {};
    if (!isObject(operation))
      throw status.badRequest(words(cannotUnmarshal(operation, ignored ? 'jsonpatch.Operation' : 'handlers.jsonPatchOp')));
    if (!ignored) checkTexts(operation, words);
    return operation;
  });
}

function checkTexts(operation: JsonObject, words: (message: string) => string): void {
  for (const field of ['op', 'path', 'from']) {
    const value = own(operation, field);
    if (value === undefined || value === null || typeof value === 'string') continue;
    throw status.badRequest(words(`json: cannot unmarshal ${jsonKind(value)} into Go struct field jsonPatchOp.${field} of type string`));
  }
}

interface Document {
  root: Json;
  copied: number;
}

/** The target of an operation: a member of a map or an item of a list. */
interface Place {
  readonly container: JsonObject | Json[];
  readonly key: string;
}

function apply(document: Document, operation: JsonObject): void {
  spend(1);
  const value = own(operation, 'value') ?? null;
  switch (own(operation, 'op')) {
    case 'add':
      return add(placeOf(document, operation, 'path'), value);
    case 'remove':
      return remove(placeOf(document, operation, 'path'));
    case 'replace':
      return replace(document, operation, value);
    case 'move': {
      const from = placeOf(document, operation, 'from');
      const moved = read(from);
      remove(from);
      return add(placeOf(document, operation, 'path'), moved);
    }
    case 'copy': {
      const copied = cloneJson(read(placeOf(document, operation, 'from')));
      document.copied += JSON.stringify(copied).length;
      if (document.copied > mostCopiedBytes) throw cannotApply();
      return add(placeOf(document, operation, 'path'), copied);
    }
    case 'test':
      return test(document, operation, value);
    default:
      throw cannotApply();
  }
}

function pathOf(operation: JsonObject, field: 'path' | 'from'): string {
  const path = own(operation, field);
  if (typeof path !== 'string') throw cannotApply();
  return path;
}

function placeOf(document: Document, operation: JsonObject, field: 'path' | 'from'): Place {
  const steps = pathOf(operation, field).split('/');
  if (steps.length < 2) throw cannotApply();
  let container = document.root;
  for (let index = 1; index < steps.length - 1; index++) {
    if (typeof container !== 'object' || container === null) throw cannotApply();
    container = read({ container, key: unescaped(steps[index]!) });
  }
  if (typeof container !== 'object' || container === null) throw cannotApply();
  return { container, key: unescaped(steps.at(-1)!) };
}

const unescaped = (step: string): string => (step.includes('~') ? step.replaceAll('~1', '/').replaceAll('~0', '~') : step);

function indexIn(key: string, length: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw cannotApply();
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  if (index < 0 || index >= length) throw cannotApply();
  return index;
}

function read({ container, key }: Place): Json {
  return (Array.isArray(container) ? container[indexIn(key, container.length)] : own(container, key)) ?? null;
}

function add({ container, key }: Place, value: Json): void {
  if (!Array.isArray(container)) setOwn(container, key, value);
  else if (key === '-') container.push(value);
  else {
    const index = indexIn(key, container.length + 1);
    spend((container.length - index) / itemsMovedPerStep);
    container.splice(index, 0, value);
  }
}

function remove({ container, key }: Place): void {
  if (Array.isArray(container)) {
    const index = indexIn(key, container.length);
    spend((container.length - index) / itemsMovedPerStep);
    container.splice(index, 1);
  } else if (Object.hasOwn(container, key)) delete container[key];
  else throw cannotApply();
}

function replace(document: Document, operation: JsonObject, value: Json): void {
  if (pathOf(operation, 'path') === '') {
    if (typeof value === 'object' && value !== null) document.root = value;
    return;
  }
  const { container, key } = placeOf(document, operation, 'path');
  if (Array.isArray(container)) container[indexIn(key, container.length)] = value;
  else setOwn(container, key, value);
}

function test(document: Document, operation: JsonObject, value: Json): void {
  const actual = pathOf(operation, 'path') === '' ? document.root : read(placeOf(document, operation, 'path'));
  if (!jsonEqual(actual, value)) throw cannotApply();
}
