import { CelError, elementsOf, ListValue, misplacedTypes, StructValue, toJson, type Value } from '@capstan/cel';
import {
  applyOperations,
  CodecError,
  type Json,
  type JsonObject,
  type KubeObject,
  mergeConfiguration,
  type Parts,
  patchedObject,
  StatusError,
  status,
  UnfitConfiguration,
  UnfitOperation,
} from '@capstan/machinery';
import { type Evaluation, OutOfBudget } from '../../expressions/evaluation.ts';
import { complaint } from '../../patching/complaint.ts';
import { checkKind, type Form, readAs } from '../../patching/form.ts';
import { goValue } from './go-values.ts';
import type { Mutation } from './policy.ts';

/** Thrown when a mutation cannot be applied. The failure policy decides what happens then. */
export class FailedMutation extends Error {
  override readonly name = 'FailedMutation';
}

/**
 * The object after a mutation; the same object if nothing changed. Throws a `FailedMutation`, or a `StatusError` if the result does not
 * match its kind, which the failure policy cannot ignore.
 */
export function* mutated(
  { type, patch }: Mutation,
  object: KubeObject,
  { evaluation, form }: { evaluation: Evaluation; form: Form },
): Parts<KubeObject> {
  if (patch.program === undefined) throw new FailedMutation(patch.error);
  const value = yield* evaluated(evaluation, patch);
  yield;
  return type === 'JSONPatch' ? patched(operationsOf(value), object, form) : configured(configurationOf(value), object, form);
}

function* evaluated(evaluation: Evaluation, patch: Mutation['patch']): Parts<Value> {
  try {
    const { value, error } = yield* evaluation.evaluate(patch);
    if (error !== undefined) throw new FailedMutation(error);
    return value;
  } catch (error) {
    throw error instanceof OutOfBudget ? new FailedMutation(error.message) : error;
  }
}

function configurationOf(value: Value): JsonObject {
  if (!(value instanceof StructValue)) throw new FailedMutation('unsupported return type from ApplyConfiguration expression');
  checkTypes(value);
  const json = toJson(value, goValue);
  if (json instanceof CelError) throw new FailedMutation('invalid return type: *dynamic.ObjectVal');
  return json as JsonObject;
}

function checkTypes(value: StructValue): void {
  const problems = misplacedTypes(value);
  if (problems.length > 0) throw new FailedMutation(`type mismatch: ${problems.join('\n')}`);
}

function configured(configuration: JsonObject, object: KubeObject, form: Form): KubeObject {
  const { type, kind, groupVersion } = form.shape ?? form.resource;
  if (type === undefined) {
    const why = 'There can be a delay between when CustomResourceDefinitions are created and when they are available.';
    throw status.serviceUnavailable(`Resource kind ${groupVersion}, Kind=${kind} not found. ${why}`);
  }
  try {
    return readAs(mergeConfiguration(type, object as unknown as JsonObject, { ...configuration, apiVersion: groupVersion, kind }), form);
  } catch (error) {
    if (error instanceof UnfitConfiguration) throw new FailedMutation(`error applying patch: ${error.message}`);
    if (!(error instanceof CodecError)) throw error;
    const name = `${groupVersion.includes('/') ? groupVersion : `/${groupVersion}`}, Kind=${kind}`;
    throw new FailedMutation(`unable to convert unstructured object to ${name}: ${conversionProblem(error.message)}`);
  }
}

/** Apply accepts a fractional number in an integer field, and only decoding the kind rejects it. */
function conversionProblem(message: string): string {
  const fraction = /^json: cannot unmarshal number \S+ into Go .* of type (int\d+)$/.exec(message);
  return fraction === null ? message : `cannot convert float64 to ${fraction[1]}`;
}

function operationsOf(value: Value): JsonObject[] {
  if (!(value instanceof ListValue)) throw new FailedMutation('type mismatch: JSONPatchType.expression should evaluate to array');
  return elementsOf(value).map((element) => {
    if (element instanceof StructValue && element.typeName === 'JSONPatch') return operationOf(element);
    throw new FailedMutation('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
  });
}

function operationOf({ fields }: StructValue): JsonObject {
  const operation: JsonObject = { op: (fields.get('op') ?? '') as Json, path: (fields.get('path') ?? '') as Json };
  const from = fields.get('from');
  if (typeof from === 'string' && from !== '') operation['from'] = from;
  const value = fields.get('value');
  if (value === undefined) return operation;
  if (value instanceof StructValue) checkTypes(value);
  const json = toJson(value);
  if (!(json instanceof CelError)) return { ...operation, value: json };
  throw new FailedMutation(`JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${json.message}`);
}

/** A failed test in the patch leaves the object unchanged. */
function patched(operations: readonly JsonObject[], object: KubeObject, form: Form): KubeObject {
  if (operations.length === 0) return object;
  let value: JsonObject;
  try {
    value = patchedObject(applyOperations(object as unknown as JsonObject, operations));
  } catch (error) {
    if (error instanceof StatusError) throw status.internalError(error.message);
    if (!(error instanceof UnfitOperation)) throw error;
    const why = complaint(error);
    if (why.endsWith('failed: test failed')) return object;
    throw new FailedMutation(`JSON Patch: ${why}`);
  }
  checkKind(value, form);
  try {
    return readAs(value, form, { isStrict: true });
  } catch (error) {
    throw error instanceof CodecError ? status.internalError(error.message) : error;
  }
}
