import type { GPUUnitSpec } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

/** A Secret or ConfigMap, by its kind and name. */
export interface Source {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
}

/** The content of `nodeunits/secrets`. */
export interface SecretValues {
  readonly env: Readonly<Record<string, string>>;
  readonly pullConfig?: string;
}

export type Resolved =
  | { readonly kind: 'complete'; readonly values: SecretValues }
  | { readonly kind: 'missing'; readonly message: string };

const pullKey = '.dockerconfigjson';

/** The objects that a unit takes values from. */
export function sourcesOf({ env = [], imagePullSecret }: GPUUnitSpec): Source[] {
  const found = new Map<string, Source>();
  const add = (kind: Source['kind'], name: string): void => void found.set(`${kind}/${name}`, { kind, name });
  for (const { secret, configMap } of env) {
    if (secret !== undefined) add('Secret', secret.name);
    if (configMap !== undefined) add('ConfigMap', configMap.name);
  }
  if (imagePullSecret !== undefined) add('Secret', imagePullSecret);
  return [...found.values()];
}

/** The values of all variables, or the first thing that is missing. Values of Secrets are never part of the message. */
export function resolve({ env = [], imagePullSecret }: GPUUnitSpec, read: (source: Source) => KubeObject | undefined): Resolved {
  const values: Record<string, string> = {};
  for (const { name, secret, configMap } of env) {
    const reference = secret ?? configMap;
    if (reference === undefined) continue;
    const source: Source = { kind: secret === undefined ? 'ConfigMap' : 'Secret', name: reference.name };
    const object = read(source);
    const value = object && valueIn(object, reference.key);
    if (value !== undefined) values[name] = value;
    else if (reference.optional !== true) return missing(source, object, `${reference.key}, which the variable ${name} needs`);
  }
  if (imagePullSecret === undefined) return { kind: 'complete', values: { env: values } };
  const source: Source = { kind: 'Secret', name: imagePullSecret };
  const object = read(source);
  const pullConfig = object && valueIn(object, pullKey);
  if (pullConfig === undefined) return missing(source, object, `${pullKey}, which imagePullSecret needs`);
  return { kind: 'complete', values: { env: values, pullConfig } };
}

function missing({ kind, name }: Source, object: KubeObject | undefined, key: string): Resolved {
  return { kind: 'missing', message: object === undefined ? `there is no ${kind} ${name}` : `the ${kind} ${name} has no key ${key}` };
}

function valueIn(object: KubeObject, key: string): string | undefined {
  const data = object['data'] as Readonly<Record<string, string>> | undefined;
  const value = data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
  if (object.kind !== 'Secret') return value;
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
}
