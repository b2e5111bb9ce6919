import type { Json } from '../src/json.ts';
import { anyForms, type FieldRow, fieldFlags, scalars, type TypeCode, type TypeRow, type TypesFile } from '../src/schema/table-format.ts';
import type { AnyForm, Scalar } from '../src/schema/type.ts';
import type { GoField, GoPackage, GoSources } from './go-source.ts';
import type { OpenApiProperty, OpenApiSchemas } from './open-api.ts';

/** Go types with their own marshaller, or whose JSON differs from their struct. */
const special: Record<string, Scalar | AnyForm> = {
  'k8s.io/apimachinery/pkg/apis/meta/v1.Time': 'time',
  'k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime': 'microTime',
  'k8s.io/apimachinery/pkg/apis/meta/v1.Duration': 'duration',
  'k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1': 'raw',
  'k8s.io/apimachinery/pkg/api/resource.Quantity': 'quantity',
  'k8s.io/apimachinery/pkg/util/intstr.IntOrString': 'intOrString',
  'k8s.io/apimachinery/pkg/runtime.RawExtension': 'raw',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON': 'json',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool': 'schemaOrBool',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray': 'schemaOrArray',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray': 'schemaOrStringArray',
};

const builtIn: Record<string, Scalar> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  int: 'int64',
  float64: 'double',
  '[]byte': 'bytes',
};

/** Kinds that no path of the server accepts or returns, but that we must be able to read and write. */
const withoutPath = [
  'io.k8s.api.admission.v1.AdmissionReview',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ConversionReview',
  'io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata',
  'io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList',
];

/** Names of schemas that represent a scalar or any JSON, and so have no fields. */
const noStruct = new Set(Object.keys(special).map(schemaName));

export class TypeDeriver {
  readonly #sources: GoSources;
  readonly #schemas: OpenApiSchemas;
  readonly #names: string[] = [];
  readonly #rows: TypeRow[] = [];
  readonly #index = new Map<string, number>();
  readonly #goNames: string[] = [];

  constructor(sources: GoSources, schemas: OpenApiSchemas) {
    this.#sources = sources;
    this.#schemas = schemas;
  }

  derive(): TypesFile {
    for (const name of [...this.#schemas.keys()].sort()) if (!noStruct.has(name)) this.#reference(name);
    for (const name of withoutPath) this.#reference(name);
    // Deriving a type may reference types that no schema names; they are appended and derived in turn.
    for (let index = 0; index < this.#names.length; index++) this.#rows[index] = this.#deriveType(this.#names[index]!);
    return { names: this.#names, goNames: this.#goNames, types: this.#rows };
  }

  #reference(name: string): number {
    let index = this.#index.get(name);
    if (index === undefined) {
      index = this.#names.push(name) - 1;
      this.#index.set(name, index);
    }
    return index;
  }

  #deriveType(name: string): TypeRow {
    const schema = this.#schemas.get(name);
    const { goPackage, typeName } = this.#locate(name);
    const required = new Set(schema?.required ?? []);
    const rows: FieldRow[] = [];
    for (const { field, within, owner } of this.#flatten(goPackage, typeName, [])) {
      const property = schema?.properties?.[field.jsonName];
      if (schema?.properties !== undefined && property === undefined) {
        throw new Error(`${name}: Go has the field ${field.jsonName}, which OpenAPI does not: are both of the same version?`);
      }
      rows.push(this.#fieldRow({ field, within, owner, property, required: required.has(field.jsonName) }));
    }
    const missing = Object.keys(schema?.properties ?? {}).filter((key) => !rows.some((row) => row[0] === key));
    if (missing.length > 0) throw new Error(`${name}: OpenAPI has ${missing.join(', ')}, which the Go struct does not`);
    return [schema?.['x-kubernetes-map-type'] === 'atomic' ? 1 : 0, ...rows];
  }

  /** The fields of the struct and of its embedded structs, in Go's order. */
  #flatten(goPackage: GoPackage, typeName: string, within: readonly number[] | undefined): FlatField[] {
    const declaration = goPackage.declarations.get(typeName);
    if (declaration?.kind !== 'struct') return [];
    const checked = goPackage.messages.get(typeName);
    return declaration.fields.flatMap((field) => {
      if (field.protoNumber !== undefined && checked !== undefined && !checked.has(field.protoNumber)) {
        throw new Error(
          `${goPackage.path}.${typeName}: the tag numbers ${field.goType} ${field.protoNumber}, generated.proto does not have it`,
        );
      }
      if (field.jsonName !== '') return [{ field, within, owner: goPackage }];
      const target = this.#resolve(goPackage, field.goType);
      // An embedded struct without a number is TypeMeta, which protobuf leaves to the envelope.
      const path = within === undefined || field.protoNumber === undefined ? undefined : [...within, field.protoNumber];
      return this.#flatten(target.goPackage, target.typeName, path);
    });
  }

  #fieldRow({ field, within, owner, property, required }: FieldFacts): FieldRow {
    const pointer = field.goType.startsWith('*');
    const type = this.#code(owner, field.goType.replace(/^\*/, ''), property);
    const strategy = property?.['x-kubernetes-patch-strategy'] ?? '';
    const flags =
      (required ? fieldFlags.required : 0) |
      this.#emptyFlag(field, pointer, type) |
      (strategy.includes('merge') ? fieldFlags.merge : 0) |
      (strategy.includes('retainKeys') ? fieldFlags.retainKeys : 0);
    const number = within === undefined ? 0 : (field.protoNumber ?? 0);
    const proto = within === undefined || within.length === 0 ? number : [...within, number];
    const row: FieldRow = [field.jsonName, type, flags, proto];
    const mergeKey = property?.['x-kubernetes-patch-merge-key'];
    const fallback = trueDefault(property?.default);
    if (fallback !== undefined || mergeKey !== undefined) row.push(fallback ?? null);
    if (mergeKey !== undefined) row.push(mergeKey);
    return row;
  }

  #emptyFlag(field: GoField, pointer: boolean, code: TypeCode): number {
    const type = Array.isArray(code) && (code[0] === 'n' || code[0] === 'g') ? (code[1] as TypeCode) : code;
    if (pointer) return field.omitEmpty || field.omitZero ? 0 : fieldFlags.null;
    const scalar = typeof type === 'number' && type >= 0 && type < 100 ? scalars[type] : undefined;
    const structLike = scalar === 'quantity' || scalar === 'intOrString' || (typeof type === 'number' && type >= 100);
    if (scalar === 'time' || scalar === 'microTime' || (typeof type === 'number' && type < 0)) {
      return field.omitZero ? fieldFlags.dropped : fieldFlags.null;
    }
    // omitempty has no effect on a struct: Go always prints it.
    if (structLike) return field.omitZero ? fieldFlags.dropped : fieldFlags.printed;
    if (field.omitEmpty || field.omitZero) return fieldFlags.dropped;
    return Array.isArray(type) || scalar === 'bytes' ? fieldFlags.null : fieldFlags.printed;
  }

  #code(owner: GoPackage, goType: string, property: OpenApiProperty | undefined): TypeCode {
    const scalar = builtIn[goType];
    if (scalar !== undefined) return scalars.indexOf(scalar);
    if (goType.startsWith('[]')) return this.#listCode(this.#code(owner, goType.slice(2).replace(/^\*/, ''), property?.items), property);
    const map = /^map\[[\w.]+\](.+)$/.exec(goType);
    if (map !== null) {
      return [
        'm',
        this.#code(owner, map[1]!.replace(/^\*/, ''), property?.additionalProperties),
        property?.['x-kubernetes-map-type'] === 'atomic' ? 1 : 0,
      ];
    }
    const { goPackage, typeName } = this.#resolve(owner, goType);
    const form = special[`${goPackage.path}.${typeName}`];
    if (form !== undefined) return formCode(form);
    const declaration = goPackage.declarations.get(typeName);
    if (declaration === undefined || declaration.kind === 'alias')
      throw new Error(`${goPackage.path}: no declaration of ${typeName}, which ${owner.path} uses`);
    if (declaration.kind === 'struct') {
      const code = 100 + this.#reference(schemaName(`${goPackage.path}.${typeName}`));
      return property?.['x-kubernetes-map-type'] === 'granular' ? ['g', code] : code;
    }
    const underlying = this.#code(goPackage, declaration.underlying, property);
    const wrapped = goPackage.messages.has(typeName) ? 1 : 0;
    return ['n', underlying, this.#goName(`${goPackage.name}.${typeName}`), wrapped];
  }

  #listCode(items: TypeCode, property: OpenApiProperty | undefined): TypeCode {
    const listType = property?.['x-kubernetes-list-type'];
    if (listType === 'map') return ['l', items, 2, ...(property?.['x-kubernetes-list-map-keys'] ?? [])];
    return ['l', items, listType === 'set' ? 1 : 0];
  }

  #goName(name: string): number {
    const found = this.#goNames.indexOf(name);
    return found === -1 ? this.#goNames.push(name) - 1 : found;
  }

  #resolve(owner: GoPackage, goType: string): { goPackage: GoPackage; typeName: string } {
    const [first, second] = goType.split('.');
    if (second !== undefined) return this.#behindAliases(this.#imported(owner, first!), second);
    return this.#behindAliases(owner, first!);
  }

  #imported(owner: GoPackage, name: string): GoPackage {
    const path = owner.imports.get(name);
    if (path === undefined) throw new Error(`${owner.path} uses the package ${name}, which no file imports from k8s.io`);
    return this.#sources.package(path);
  }

  #behindAliases(goPackage: GoPackage, typeName: string): { goPackage: GoPackage; typeName: string } {
    const declaration = goPackage.declarations.get(typeName);
    return declaration?.kind === 'alias' ? this.#resolve(goPackage, declaration.target) : { goPackage, typeName };
  }

  #locate(name: string): { goPackage: GoPackage; typeName: string } {
    const parts = name.split('.');
    const typeName = parts.pop()!;
    const path = `k8s.io/${parts.slice(2).join('/')}`;
    return { goPackage: this.#sources.package(path), typeName };
  }
}

interface FlatField {
  readonly field: GoField;
  /** The numbers of the enclosing embedded messages; undefined if protobuf does not have the field. */
  readonly within: readonly number[] | undefined;
  readonly owner: GoPackage;
}

interface FieldFacts extends FlatField {
  readonly property: OpenApiProperty | undefined;
  readonly required: boolean;
}

/** The OpenAPI name of a Go type such as `k8s.io/api/core/v1.Pod`. */
function schemaName(goPath: string): string {
  return goPath.replace(/^k8s\.io\//, 'io.k8s.').replaceAll('/', '.');
}

function formCode(form: Scalar | AnyForm): number {
  const index = anyForms.indexOf(form as AnyForm);
  return index === -1 ? scalars.indexOf(form as Scalar) : -1 - index;
}

/** OpenAPI lists Go's zero value for every field that is not a pointer; only other values are real defaults. */
function trueDefault(value: unknown): Json | undefined {
  const zero = value === undefined || value === '' || value === 0 || value === false || JSON.stringify(value) === '{}';
  return zero ? undefined : (value as Json);
}
