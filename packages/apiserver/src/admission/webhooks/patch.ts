import {
  applySchemaDefaults,
  CodecError,
  checkObject,
  isObject,
  type Json,
  type JsonObject,
  jsonPatch,
  type KubeObject,
  parseJson,
  StatusError,
  status,
} from '@capstan/machinery';
import type { Resource } from '../../registry/resource.ts';
import type { Shape } from '../admission.ts';
import { CallFailure } from './failure.ts';

/** What an object is read as after a webhook has changed it. */
export interface Form {
  readonly resource: Resource;
  /** Where the object is not of the resource's own kind. */
  readonly shape: Shape | undefined;
}

/** The operations of a patch; none when it changes nothing. */
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

/** The object after a webhook's patch, read and defaulted as if a client had sent it. What does not fit is the webhook's fault, not the client's. */
export function patchedBy(operations: readonly JsonObject[], object: KubeObject, form: Form): KubeObject {
  const value = applied(operations, object as unknown as JsonObject);
  const { kind, groupVersion, type } = form.shape ?? form.resource;
  const isSame = value['kind'] === kind && value['apiVersion'] === groupVersion;
  if (!isSame) {
    const what = `no kind ${JSON.stringify(value['kind'] ?? '')} is registered for version ${JSON.stringify(value['apiVersion'] ?? '')}`;
    throw status.internalError(`${what} in scheme "pkg/runtime/scheme.go:110"`);
  }
  try {
    if (form.shape === undefined && form.resource.custom !== undefined) form.resource.custom.read(value);
    else if (type !== undefined) checkObject(value, type);
  } catch (error) {
    throw error instanceof CodecError ? status.internalError(error.message) : error;
  }
  if (!isObject(value['metadata'])) value['metadata'] = {};
  const result = value as unknown as KubeObject;
  if (type !== undefined) applySchemaDefaults(value, type);
  if (form.shape === undefined) form.resource.strategy.default?.(result);
  return result;
}

function applied(operations: readonly JsonObject[], object: JsonObject): JsonObject {
  try {
    return jsonPatch(object, JSON.stringify(operations), { fieldValidation: 'Ignore' });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw status.internalError(refusedOperation(operations, object) ?? error.message);
  }
}

/** Why the patch does not fit: the first operation that fails, in words. */
function refusedOperation(operations: readonly JsonObject[], object: JsonObject): string | undefined {
  let current = object;
  for (const operation of operations) {
    try {
      current = jsonPatch(current, JSON.stringify([operation]), { fieldValidation: 'Ignore' });
    } catch {
      return complaint(operation, current);
    }
  }
  return undefined;
}

function complaint({ op, path, from }: JsonObject, object: JsonObject): string {
  const at = typeof path === 'string' ? path : '';
  const holder = holderOf(object, at);
  const key = at.slice(at.lastIndexOf('/') + 1);
  switch (op) {
    case 'test':
      return `testing value ${at} failed: test failed`;
    case 'add':
      return `add operation does not apply: doc is missing path: ${JSON.stringify(at)}: missing value`;
    case 'replace':
      return `replace operation does not apply: doc is missing ${holder === undefined ? 'path' : 'key'}: ${at}: missing value`;
    case 'remove':
      return holder === undefined
        ? `remove operation does not apply: doc is missing path: ${JSON.stringify(at)}: missing value`
        : `error in remove for path: '${at}': Unable to remove nonexistent key: ${key}: missing value`;
    case 'move':
    case 'copy':
      return `${op} operation does not apply: doc is missing from path: ${typeof from === 'string' ? from : ''}: missing value`;
    default:
      return `Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`;
  }
}

function holderOf(object: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = object;
  for (const step of path.split('/').slice(1, -1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Puts what another object holds into this one: others have it in their hands already. */
export function replaceContents(object: KubeObject, next: KubeObject): void {
  for (const key of Object.keys(object)) if (!Object.hasOwn(next, key)) delete object[key];
  for (const key of Object.keys(next)) {
    Object.defineProperty(object, key, { value: next[key], writable: true, enumerable: true, configurable: true });
  }
}
