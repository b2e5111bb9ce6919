import type { KubeObject, ObjectMeta } from '@capstan/machinery/objects';
import type { KindReference } from '../kind.ts';
import type { Measure } from './measure.ts';
import type { ReadOf, Rule, Schema, WrittenOf } from './schema.ts';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** A JSON path in the object, such as `.spec.model`. */
  readonly path: string;
  readonly description?: string;
  /** Columns above 0 appear with `-o wide` only. */
  readonly priority?: number;
  readonly format?: string;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** One version of a kind. */
export interface KindVersion {
  /** By default, true. */
  readonly served?: boolean;
  /** Sent as a warning with every response: which version to use instead. */
  readonly deprecated?: string;
  readonly spec?: Schema;
  /** Gives the kind the subresource `status`. */
  readonly status?: Schema;
  /** Rules on the whole object. */
  readonly rules?: readonly Rule[];
  /** The age of the object is always the last column. */
  readonly columns?: readonly PrinterColumn[];
  /** Gives the kind the subresource `scale`. */
  readonly scale?: ScalePaths;
  /** JSON paths of fields that field selectors may use, beside the name and the namespace. */
  readonly selectableFields?: readonly string[];
}

export interface KindOptions<V extends Readonly<Record<string, KindVersion>>, S extends keyof V & string> {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  /** By default, the kind in lower case. */
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly scope: 'Cluster' | 'Namespaced';
  /** Subresources that lead to a node, such as `log` and `exec`. The audit log records every request for them, whatever its verb. */
  readonly streams?: readonly string[];
  /** The amounts of its objects that quotas can limit. */
  readonly measures?: readonly Measure[];
  /** Sentences for people who have never seen the kind. */
  readonly description: string;
  /** All versions, the preferred one first. All of them have the same fields: versions that differ need conversion rules. */
  readonly versions: V;
  /** The version in which objects are stored. By default, the only one. */
  readonly storage?: S;
}

/** A kind, defined once. It is also a reference to its stored version, so that clients can use it as it is. */
export interface KindDefinition<
  V extends Readonly<Record<string, KindVersion>> = Readonly<Record<string, KindVersion>>,
  S extends keyof V & string = keyof V & string,
> extends KindReference {
  readonly version: S;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly streams: readonly string[];
  readonly measures: readonly Measure[];
  readonly description: string;
  readonly versions: V;
}

type SpecOf<V> = V extends { readonly spec: infer T extends Schema } ? Part<'spec', ReadOf<T>, T['presence']> : unknown;
type NewSpecOf<V> = V extends { readonly spec: infer T extends Schema } ? NewPart<'spec', WrittenOf<T>, T['presence']> : unknown;
type StatusOf<V> = V extends { readonly status: infer T extends Schema } ? { status?: ReadOf<T> } : unknown;
type Part<N extends string, T, P> = P extends 'optional' ? { [K in N]?: T } : { [K in N]: T };
type NewPart<N extends string, T, P> = P extends 'required' ? { [K in N]: T } : { [K in N]?: T };

/** The type of the objects that the server returns, in the stored version unless another is named. */
export type ObjectOf<D extends KindDefinition, N extends keyof D['versions'] = D['version']> = KubeObject &
  SpecOf<D['versions'][N]> &
  StatusOf<D['versions'][N]>;

/** The type of an object that is about to be created: fields with defaults may be absent. */
export type NewObjectOf<D extends KindDefinition, N extends keyof D['versions'] = D['version']> = {
  readonly metadata: ObjectMeta;
} & NewSpecOf<D['versions'][N]>;

/** Defines a kind. Everything else about it is derived: its type, its schemas in each form, and its reference page. */
export function defineKind<const V extends Readonly<Record<string, KindVersion>>, const S extends keyof V & string = keyof V & string>(
  options: KindOptions<V, S>,
): KindDefinition<V, S> {
  const { group, kind, plural, singular = kind.toLowerCase(), scope, description, versions } = options;
  const { shortNames = [], categories = [], streams = [], measures = [] } = options;
  const names = Object.keys(versions) as S[];
  const version = options.storage ?? names[0];
  if (version === undefined || (options.storage === undefined && names.length > 1))
    throw new Error(`${plural}.${group} has ${names.length} versions and does not say which one is stored; set \`storage\``);
  return {
    group,
    version,
    resource: plural,
    namespaced: scope === 'Namespaced',
    kind,
    singular,
    shortNames,
    categories,
    streams,
    measures,
    description,
    versions,
  };
}

/** An object of a kind, with its type. */
export function newObject<D extends KindDefinition>(definition: D, object: NewObjectOf<D>): KubeObject & NewObjectOf<D> {
  return { apiVersion: `${definition.group}/${definition.version}`, kind: definition.kind, ...object };
}
