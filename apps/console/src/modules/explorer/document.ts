import { isObject, type KubeObject } from '@capstan/machinery/objects';
import { dump, load } from 'js-yaml';

/** A text that is no object of Kubernetes. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
}

/** An object as people edit it: with the fields first that they write first, and without those that only the server keeps. */
export function textOf({ apiVersion, kind, ...rest }: KubeObject): string {
  const { managedFields: _, name, namespace, ...others } = rest.metadata;
  const metadata = { ...(name !== undefined && { name }), ...(namespace !== undefined && { namespace }), ...others };
  return dump({ apiVersion, kind, ...rest, metadata }, { lineWidth: -1, noRefs: true });
}

/** The same value with its fields in the order of the model, and others at the end: a comparison of texts then shows differences only. */
export function inOrderOf<T>(value: T, model: unknown): T {
  if (Array.isArray(value)) {
    const models: readonly unknown[] = Array.isArray(model) ? model : [];
    return value.map((one: unknown, index) => inOrderOf(one, models[index])) as T;
  }
  if (!isObject(value) || !isObject(model)) return value;
  const fields = [...Object.keys(model).filter((field) => field in value), ...Object.keys(value).filter((field) => !(field in model))];
  return Object.fromEntries(fields.map((field) => [field, inOrderOf(value[field], model[field])])) as T;
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
