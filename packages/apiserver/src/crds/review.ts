import { randomUUID } from 'node:crypto';
import { FieldPath, fieldError, isObject, type JsonObject, type KubeObject, textOf, validateLabels } from '@capstan/machinery';

/** Thrown when the response of a conversion webhook is invalid. */
export class BadConversion extends Error {
  override readonly name = 'BadConversion';
}

const known = ['v1', 'v1beta1'];

export interface Review {
  readonly uid: string;
  readonly version: string;
  readonly text: string;
}

/** The ConversionReview that asks a webhook to convert objects to another version. */
export function makeReview(objects: readonly KubeObject[], desiredAPIVersion: string, versions: readonly string[]): Review {
  const version = versions.find((candidate) => known.includes(candidate));
  if (version === undefined) throw new BadConversion('no supported conversion review versions');
  const uid = randomUUID();
  const request = { uid, desiredAPIVersion, objects };
  const response = { uid: '', convertedObjects: null, result: { metadata: {} } };
  const review = { kind: 'ConversionReview', apiVersion: `apiextensions.k8s.io/${version}`, request, response };
  return { uid, version, text: JSON.stringify(review) };
}

/** The converted objects of a response. Throws a BadConversion if the webhook did not convert them. */
export function convertedObjects(text: string, { uid, version }: Review): unknown[] {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch (error) {
    throw new BadConversion(error instanceof Error ? error.message : String(error));
  }
  const { kind, apiVersion, response } = isObject(review) ? review : ({} as JsonObject);
  const expected = `apiextensions.k8s.io/${version}`;
  if (kind !== 'ConversionReview' || apiVersion !== expected) {
    const got = `${textOf(apiVersion)}, Kind=${textOf(kind)}`;
    throw new BadConversion(`expected webhook response of ${expected}, Kind=ConversionReview, got ${got}`);
  }
  if (!isObject(response)) throw new BadConversion('no response provided');
  if (version === 'v1' && response['uid'] !== uid)
    throw new BadConversion(`expected response.uid=${fieldError.quote(uid)}, got ${fieldError.quote(textOf(response['uid']))}`);
  const result = isObject(response['result']) ? response['result'] : {};
  if (result['status'] !== 'Success') {
    if (typeof result['message'] === 'string' && result['message'] !== '') throw new BadConversion(result['message']);
    throw new BadConversion(`response.result.status was '${textOf(result['status'])}', not 'Success'`);
  }
  return Array.isArray(response['convertedObjects']) ? response['convertedObjects'] : [];
}

/**
 * Merges the converted object of a webhook into the original. The webhook may change everything but the identity of the object; in the
 * metadata, only labels and annotations. Throws an Error that names a forbidden change.
 */
export function takeOver(original: KubeObject, converted: unknown, apiVersion: string): KubeObject {
  if (!isObject(converted)) throw new Error(`invalid type, expected an object, got ${JSON.stringify(converted)}`);
  const { metadata } = converted;
  if (converted['apiVersion'] !== apiVersion)
    throw new Error(`invalid groupVersion (expected ${apiVersion}, received ${textOf(converted['apiVersion'])})`);
  if (converted['kind'] !== original.kind)
    throw new Error(`invalid kind (expected ${original.kind}, received ${textOf(converted['kind'])})`);
  if (!isObject(metadata)) throw new Error('missing metadata in converted object');
  for (const [field, name] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const [before, after] = [original.metadata[field] ?? '', textOf(metadata[field])];
    if (before !== after) throw new Error(`must have the same ${name}: ${before} != ${after}`);
  }
  return { ...converted, kind: original.kind, apiVersion, metadata: mergedMetadata(original, metadata) } as KubeObject;
}

function mergedMetadata(original: KubeObject, given: JsonObject): KubeObject['metadata'] {
  const metadata = { ...original.metadata };
  for (const field of ['labels', 'annotations'] as const) {
    const value = given[field];
    delete metadata[field];
    if (value === undefined || value === null) continue;
    if (!isObject(value)) throw new Error(`invalid metadata.${field} in converted object`);
    for (const [key, text] of Object.entries(value))
      if (typeof text !== 'string') throw new Error(`metadata.${field}[${key}] must be a string in converted object`);
    const errors = field === 'labels' ? validateLabels(value as Record<string, string>, FieldPath.of('metadata', 'labels')) : [];
    if (errors.length > 0) throw new Error(errors.map((error) => `${error.field}: ${error.body}`).join(', '));
    metadata[field] = value as Record<string, string>;
  }
  return metadata;
}
