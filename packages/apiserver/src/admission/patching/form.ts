import {
  applySchemaDefaults,
  CodecError,
  checkObject,
  isObject,
  type JsonObject,
  type KubeObject,
  status,
  strictDecodingMessage,
} from '@capstan/machinery';
import type { AdmissionRequest, Shape } from '../../registry/admission.ts';
import type { Resource } from '../../registry/resource.ts';

/** How to parse an object that a webhook or policy has changed. */
export interface Form {
  readonly resource: Resource;
  /** Set if the object is of another kind than the resource, as in a subresource. */
  readonly shape: Shape | undefined;
}

/**
 * Decodes and defaults a changed object as if a client had sent it. Modifies it in place. Throws a CodecError if it does not match its
 * kind.
 */
export function readAs(value: JsonObject, { resource, shape }: Form, options: { readonly isStrict?: boolean } = {}): KubeObject {
  const { type } = shape ?? resource;
  if (shape === undefined && resource.custom !== undefined) resource.custom.read(value);
  else if (type !== undefined) {
    const { unknown } = checkObject(value, type);
    if (options.isStrict === true && unknown.length > 0) throw new CodecError(strictDecodingMessage(unknown));
  }
  if (!isObject(value['metadata'])) value['metadata'] = {};
  const result = value as unknown as KubeObject;
  if (type !== undefined) applySchemaDefaults(value, type);
  if (shape === undefined) resource.strategy.default?.(result);
  return result;
}

/** Throws if the kind of the object was changed. */
export function checkKind({ kind: given, apiVersion }: JsonObject, { resource, shape }: Form): void {
  const { kind, groupVersion } = shape ?? resource;
  if (given === kind && apiVersion === groupVersion) return;
  const what = `no kind ${JSON.stringify(given ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')}`;
  throw status.internalError(`${what} in scheme "pkg/runtime/scheme.go:110"`);
}

/** Throws if the object was moved to another namespace. */
export function checkPlace({ resource, namespace }: AdmissionRequest, { metadata }: KubeObject): void {
  if (!resource.namespaced) delete metadata.namespace;
  else if (metadata.namespace === undefined || metadata.namespace === '') metadata.namespace = namespace;
  else if (metadata.namespace !== namespace)
    throw status.badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** Replaces the contents of an object in place, because others hold references to it. */
export function replaceContents(object: KubeObject, next: KubeObject): void {
  for (const key of Object.keys(object)) if (!Object.hasOwn(next, key)) delete object[key];
  for (const key of Object.keys(next)) {
    Object.defineProperty(object, key, { value: next[key], writable: true, enumerable: true, configurable: true });
  }
}
