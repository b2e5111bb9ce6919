import { isObject, type KubeObject } from '@capstan/machinery/objects';
import { dump, load } from 'js-yaml';

/** A text that is no object of Kubernetes. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
}

/** An object as people edit it: without the fields that only the server keeps. */
export function textOf(object: KubeObject): string {
  const { managedFields: _, ...metadata } = object.metadata;
  return dump({ ...object, metadata }, { lineWidth: -1, noRefs: true });
}

/** The object in a text. Throws a DocumentError that says what is missing. */
export function objectIn(text: string): KubeObject {
  let value: unknown;
  try {
    value = load(text);
  } catch (error) {
    throw new DocumentError(`this is no YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  if (!isObject(value)) throw new DocumentError('expected an object with apiVersion, kind and metadata');
  for (const field of ['apiVersion', 'kind']) if (typeof value[field] !== 'string') throw new DocumentError(`expected a text in ${field}`);
  if (!isObject(value['metadata'])) throw new DocumentError('expected an object in metadata');
  return value as unknown as KubeObject;
}
