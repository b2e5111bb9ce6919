import { type Fields, fieldsOf, isObject, itemsOf, type JsonObject, type KubeObject, maybeFields, textOf } from '@capstan/machinery';
import { sameValue } from '../parts.ts';
import { goSchema } from './go-schema.ts';

/**
 * Parts that versions may share. If a part is the same in all versions, Kubernetes validates it once and reports it at the top level of the
 * spec.
 */
export interface Shared {
  readonly schema: JsonObject | undefined;
  readonly subresources: Readonly<Fields> | undefined;
  readonly columns: readonly Fields[];
  readonly selectableFields: readonly Fields[];
}

export interface InternalVersion extends Shared {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  /** True if the version has a `schema`, even an empty one. */
  readonly hasSchema: boolean;
}

/** A definition in the internal form that Kubernetes validates. */
export interface InternalSpec extends Shared {
  readonly spec: Readonly<Fields>;
  readonly group: string;
  readonly names: Readonly<Fields>;
  readonly versions: readonly InternalVersion[];
  /** True if all versions have the same schema. */
  readonly sharesSchema: boolean;
}

export function toInternal(definition: KubeObject): InternalSpec {
  const spec = fieldsOf(definition['spec']);
  const versions = itemsOf(spec['versions']).map(readVersion);
  const first = versions[0];
  const same = (pick: (version: InternalVersion) => unknown): boolean =>
    first !== undefined && versions.every((version) => sameValue(pick(version), pick(first)));
  const sharesSchema = same(({ schema, hasSchema }) => [schema, hasSchema]);
  const shares = { subresources: same((v) => v.subresources), columns: same((v) => v.columns), fields: same((v) => v.selectableFields) };
  return {
    spec,
    group: textOf(spec['group']),
    names: fieldsOf(spec['names']),
    sharesSchema,
    schema: sharesSchema ? first?.schema : undefined,
    subresources: shares.subresources ? first?.subresources : undefined,
    columns: (shares.columns ? first?.columns : undefined) ?? [],
    selectableFields: (shares.fields ? first?.selectableFields : undefined) ?? [],
    versions: versions.map((version) => ({
      ...version,
      ...(sharesSchema && { schema: undefined }),
      ...(shares.subresources && { subresources: undefined }),
      ...(shares.columns && { columns: [] }),
      ...(shares.fields && { selectableFields: [] }),
    })),
  };
}

function readVersion(version: Fields): InternalVersion {
  const schema = maybeFields(version['schema']);
  const warning = version['deprecationWarning'];
  return {
    name: textOf(version['name']),
    served: version['served'] === true,
    storage: version['storage'] === true,
    deprecated: version['deprecated'] === true,
    deprecationWarning: typeof warning === 'string' ? warning : undefined,
    hasSchema: schema !== undefined,
    schema: isObject(schema?.['openAPIV3Schema']) ? schema['openAPIV3Schema'] : undefined,
    subresources: maybeFields(version['subresources']),
    columns: itemsOf(version['additionalPrinterColumns']),
    selectableFields: itemsOf(version['selectableFields']),
  };
}

/** Converts versions to the form in which Go prints them in error messages. */
export function shownVersions(versions: readonly InternalVersion[]): object[] {
  return versions.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: version.schema === undefined ? null : { OpenAPIV3Schema: goSchema(version.schema) },
    Subresources: version.subresources ?? null,
    AdditionalPrinterColumns: version.columns.length === 0 ? null : version.columns,
    SelectableFields: version.selectableFields.length === 0 ? null : version.selectableFields,
  }));
}
