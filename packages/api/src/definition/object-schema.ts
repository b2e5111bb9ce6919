import type { JsonObject } from '@capstan/machinery/objects';
import type { KindDefinition, KindVersion, PrinterColumn } from './define-kind.ts';
import { keywords } from './schema.ts';

const age: PrinterColumn = { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' };

/** The schema of a whole object of one version. */
export function objectSchema({ description }: KindDefinition, { spec, status, rules }: KindVersion): JsonObject {
  const required = spec?.presence === 'required' ? ['spec'] : [];
  return {
    type: 'object',
    description,
    ...(required.length > 0 && { required }),
    properties: {
      apiVersion: { type: 'string', description: 'Group and version of the schema that this object follows.' },
      kind: { type: 'string', description: 'Kind of this object.' },
      metadata: { type: 'object' },
      ...(spec && { spec: spec.json }),
      ...(status && { status: status.json }),
    },
    ...keywords(rules === undefined ? {} : { rules }),
  };
}

/** The names of a kind, as definitions and schemas have them. */
export function namesOf({ resource, singular, kind, shortNames, categories }: KindDefinition): JsonObject {
  return {
    plural: resource,
    singular,
    kind,
    listKind: `${kind}List`,
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
  };
}

/** Everything about a version but its schema. */
export function versionFacts(definition: KindDefinition, name: string): JsonObject {
  const { served = true, deprecated, status, columns = [], scale } = definition.versions[name]!;
  const shown = columns.some((column) => column.name === age.name) ? columns : [...columns, age];
  const hasSubresources = status !== undefined || scale !== undefined;
  return {
    name,
    served,
    storage: name === definition.version,
    ...(deprecated !== undefined && { deprecated: true, deprecationWarning: deprecated }),
    ...(hasSubresources && { subresources: { ...(status && { status: {} }), ...(scale && { scale: { ...scale } }) } }),
    additionalPrinterColumns: shown.map(({ path, ...column }) => ({ ...column, jsonPath: path })),
  };
}
