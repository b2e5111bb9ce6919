import {
  applyOperations,
  CodecError,
  isObject,
  type Json,
  type JsonObject,
  type KubeObject,
  parseJson,
  patchedObject,
  StatusError,
  status,
  UnfitOperation,
} from '@capstan/machinery';
import { complaint } from '../patching/complaint.ts';
import { checkKind, type Form, readAs } from '../patching/form.ts';
import { CallFailure } from './failure.ts';

/** The operations of a patch; empty if it changes nothing. */
export function operationsOf(text: string): readonly JsonObject[] {
  let operations: Json;
  try {
    operations = parseJson(text);
  } catch (error) {
    if (error instanceof CodecError) throw undecodable(error.message);
    throw error;
  }
  if (operations === null) return [];
  const wrong = Array.isArray(operations) ? operations.find((operation) => !isObject(operation) && operation !== null) : operations;
  if (wrong !== undefined) {
    const kind = Array.isArray(wrong) ? 'array' : typeof wrong === 'boolean' ? 'bool' : typeof wrong;
    throw undecodable(
      `json: cannot unmarshal ${kind} into Go value of type jsonpatch.${Array.isArray(operations) ? 'Operation' : 'Patch'}`,
    );
  }
  return operations as JsonObject[];
}

function undecodable(why: string): CallFailure {
  return new CallFailure(`received undecodable patch in webhook response: ${why}`);
}

/**
 * The object after a webhook's patch, decoded and defaulted as if a client had sent it. Errors are failures of the webhook, not of the
 * client.
 */
export function patchedBy(operations: readonly JsonObject[], object: KubeObject, form: Form): KubeObject {
  const value = applied(operations, object as unknown as JsonObject);
  checkKind(value, form);
  try {
    return readAs(value, form);
  } catch (error) {
    throw error instanceof CodecError ? status.internalError(error.message) : error;
  }
}

function applied(operations: readonly JsonObject[], object: JsonObject): JsonObject {
  try {
    return patchedObject(applyOperations(object, operations));
  } catch (error) {
    if (error instanceof UnfitOperation) throw status.internalError(complaint(error));
    throw error instanceof StatusError ? status.internalError(error.message) : error;
  }
}
