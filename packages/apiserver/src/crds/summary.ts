import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, itemsOf, maybeFields, numberOf, textOf, textsOf } from '@capstan/machinery';

/** The parts of a definition needed to serve it, without the schemas, which may be large. */
export interface Summary {
  readonly group: string;
  readonly names: Names;
  readonly namespaced: boolean;
  readonly versions: readonly Version[];
  readonly storageVersion: string;
  readonly conversion: ConversionRule;
  readonly established: boolean;
  readonly terminating: boolean;
  readonly generation: number;
}

export interface Names {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

export interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | undefined;
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields: readonly string[];
}

export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly labelSelector: string;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
  readonly jsonPath: string;
}

export type ConversionRule =
  | { readonly strategy: 'None' }
  | { readonly strategy: 'Webhook'; readonly clientConfig: unknown; readonly reviewVersions: readonly string[] };

export function summarize(definition: KubeObject): Summary {
  const spec = fieldsOf(definition['spec']);
  const status = fieldsOf(definition['status']);
  const versions = itemsOf(spec['versions']).map(readVersion);
  return {
    group: textOf(spec['group']),
    names: readNames(status['acceptedNames']),
    namespaced: spec['scope'] === 'Namespaced',
    versions,
    storageVersion: versions.find(({ storage }) => storage)?.name ?? '',
    conversion: readConversion(spec['conversion']),
    established: hasCondition(status, 'Established'),
    terminating: hasCondition(status, 'Terminating'),
    generation: definition.metadata.generation ?? 0,
  };
}

function hasCondition(status: Readonly<Record<string, unknown>>, type: string): boolean {
  return itemsOf(status['conditions']).some((condition) => condition['type'] === type && condition['status'] === 'True');
}

export function readNames(value: unknown): Names {
  const names = fieldsOf(value);
  return {
    plural: textOf(names['plural']),
    singular: textOf(names['singular']),
    kind: textOf(names['kind']),
    listKind: textOf(names['listKind']),
    shortNames: textsOf(names['shortNames']),
    categories: textsOf(names['categories']),
  };
}

function readConversion(value: unknown): ConversionRule {
  const conversion = fieldsOf(value);
  if (conversion['strategy'] !== 'Webhook') return { strategy: 'None' };
  const webhook = fieldsOf(conversion['webhook']);
  return { strategy: 'Webhook', clientConfig: webhook['clientConfig'], reviewVersions: textsOf(webhook['conversionReviewVersions']) };
}

function readVersion(version: Readonly<Record<string, unknown>>): Version {
  const subresources = fieldsOf(version['subresources']);
  const scale = maybeFields(subresources['scale']);
  const warning = version['deprecationWarning'];
  return {
    name: textOf(version['name']),
    served: version['served'] === true,
    storage: version['storage'] === true,
    deprecated: version['deprecated'] === true,
    deprecationWarning: typeof warning === 'string' ? warning : undefined,
    hasStatus: maybeFields(subresources['status']) !== undefined,
    scale: scale && {
      specReplicas: textOf(scale['specReplicasPath']),
      statusReplicas: textOf(scale['statusReplicasPath']),
      labelSelector: textOf(scale['labelSelectorPath']),
    },
    columns: itemsOf(version['additionalPrinterColumns']).map(readColumn),
    selectableFields: itemsOf(version['selectableFields']).map(({ jsonPath }) => textOf(jsonPath)),
  };
}

function readColumn(column: Readonly<Record<string, unknown>>): PrinterColumn {
  return {
    name: textOf(column['name']),
    type: textOf(column['type']),
    format: textOf(column['format']),
    description: textOf(column['description']),
    priority: numberOf(column['priority']),
    jsonPath: textOf(column['jsonPath']),
  };
}
