import type { App, AppInstance } from '@capstan/api';
import { compileSchema, copyJson, isObject, type JsonObject } from '@capstan/machinery';
import { type Checked, ok, refuse } from './problem.ts';

/** The wish of a tenant, with defaults, checked against the App. */
export interface Wish {
  readonly version: string;
  /** SHA-256 of each artifact of the version, by its name. */
  readonly artifacts: Readonly<Record<string, string>>;
  readonly placement: JsonObject;
  readonly parameters: JsonObject;
}

const anyObject: JsonObject = { type: 'object' };

export function wishOf({ spec }: Pick<AppInstance, 'spec'>, app: App): Checked<Wish> {
  const version = versionOf(spec.version, app);
  if (version.kind === 'problem') return version;
  const values = copyJson({ placement: asObject(spec.placement), parameters: asObject(spec.parameters) }) as JsonObject;
  const faults = schemaFaults(values, { placement: app.spec.placement, parameters: app.spec.parameters ?? anyObject });
  if (faults.kind === 'problem') return faults;
  if (faults.value.length > 0) return refuse('InvalidSpec', faults.value.slice(0, 8).join('; '));
  const { name, artifacts = [] } = version.value;
  return ok({
    version: name,
    artifacts: Object.fromEntries(artifacts.map((one) => [one.name, one.sha256])),
    placement: values['placement'] as JsonObject,
    parameters: values['parameters'] as JsonObject,
  });
}

type Version = App['spec']['versions'][number];

function versionOf(wanted: string | undefined, { metadata, spec }: App): Checked<Version> {
  const found =
    wanted === undefined
      ? (spec.versions.find(({ isDefault }) => isDefault) ?? spec.versions[0])
      : spec.versions.find(({ name }) => name === wanted);
  if (found !== undefined) return ok(found);
  return refuse(
    'UnknownVersion',
    `the App ${metadata.name} has no version ${wanted}; it has ${spec.versions.map(({ name }) => name).join(', ')}`,
  );
}

/**
 * Fills in defaults and returns what is wrong, as `placement.server: Required value`. Fields that the schema does not know are faults too, since they are most likely
 * misspelled. The schemas are the owner's: one that cannot be read is a problem of the App.
 */
export function schemaFaults(values: JsonObject, schemas: Readonly<Record<string, unknown>>): Checked<string[]> {
  try {
    const properties = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, schema as JsonObject]));
    const compiled = compileSchema({ type: 'object', properties });
    compiled.applyDefaults(values);
    const errors = compiled.validate(values).map(({ field, body }) => `${field}: ${body}`);
    const unknown = Object.keys(schemas).some((name) => hasFields(schemas[name])) ? compiled.prune(copyJson(values) as JsonObject) : [];
    return ok([
      ...errors,
      ...unknown.filter((path) => hasFields(schemas[path.split(/[.[]/)[0]!])).map((path) => `${path}: is not a field of the App's schema`),
    ]);
  } catch (error) {
    return refuse('InvalidApp', `the schemas of the App cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      userFixable: false,
    });
  }
}

/** A schema without properties says nothing about unknown fields. */
function hasFields(schema: unknown): boolean {
  return isObject(schema) && isObject(schema['properties']);
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? (value as JsonObject) : {};
}
