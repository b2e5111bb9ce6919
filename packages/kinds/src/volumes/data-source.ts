import { type FieldPath, type Fields, fieldsOf, isAbsent, type KubeObject, maybeFields, names, textOf } from '@capstan/machinery';
import { made } from '../shared/defaulting.ts';
import type { Findings } from '../shared/findings.ts';

/** Validates the data sources of a claim: both fields must match. */
export function checkDataSources(found: Findings, path: FieldPath, spec: Readonly<Fields>): void {
  for (const field of ['dataSource', 'dataSourceRef']) {
    const source = maybeFields(spec[field]);
    if (source !== undefined) checkDataSource(found, path.child(field), source);
  }
  const [source, reference] = [maybeFields(spec['dataSource']), maybeFields(spec['dataSourceRef'])];
  if (source === undefined || reference === undefined) return;
  // Kubernetes reports an empty value here.
  if (textOf(reference['namespace']) !== '') found.invalid(path, {}, 'may not be specified when dataSourceRef.namespace is specified');
  else if (['apiGroup', 'kind', 'name'].some((field) => (source[field] ?? null) !== (reference[field] ?? null)))
    found.invalid(path, {}, 'must match dataSourceRef');
}

/** Earlier versions did not validate groups, so only those of new claims are checked. */
export function checkDataSourceGroups(found: Findings, path: FieldPath, spec: Readonly<Fields>): void {
  for (const field of ['dataSource', 'dataSourceRef']) {
    const group = textOf(fieldsOf(spec[field])['apiGroup']);
    if (group !== '') found.invalid(path.child(field, 'apiGroup'), group, names.dns1123Subdomain(group));
  }
}

function checkDataSource(found: Findings, path: FieldPath, source: Readonly<Fields>): void {
  for (const part of ['name', 'kind']) if (textOf(source[part]) === '') found.required(path.child(part));
  const group = textOf(source['apiGroup']);
  if (group === '' && source['kind'] !== 'PersistentVolumeClaim')
    found.invalid(path, textOf(source['kind']), "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  const namespace = textOf(source['namespace']);
  if (namespace !== '') found.invalid(path.child('namespace'), namespace, names.dns1123Label(namespace));
}

/** `dataSource` supports only claims and snapshots; anything else is dropped. */
export function dropUnreadSource(claim: KubeObject, old?: KubeObject): void {
  const before = fieldsOf(old?.['spec']);
  const spec = made(claim, 'spec');
  // Sources in other namespaces are not served yet.
  if (textOf(fieldsOf(spec['dataSourceRef'])['namespace']) !== '' && isAbsent(before['dataSourceRef'])) delete spec['dataSourceRef'];
  if (!isAbsent(before['dataSource']) || !isAbsent(before['dataSourceRef'])) return;
  const { kind, apiGroup } = fieldsOf(spec['dataSource']);
  const isClaim = kind === 'PersistentVolumeClaim' && textOf(apiGroup) === '';
  const isSnapshot = kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io';
  if (!isClaim && !isSnapshot && isAbsent(spec['dataSourceRef'])) delete spec['dataSource'];
}

/** Copies the data source between the old and the new field. */
export function mirrorDataSource(claim: KubeObject): void {
  const spec = made(claim, 'spec');
  const { dataSource, dataSourceRef } = spec;
  if (!isAbsent(dataSource) && isAbsent(dataSourceRef)) spec['dataSourceRef'] = { ...fieldsOf(dataSource) };
  else if (isAbsent(dataSource) && !isAbsent(dataSourceRef) && isAbsent(fieldsOf(dataSourceRef)['namespace'])) {
    spec['dataSource'] = { ...fieldsOf(dataSourceRef) };
  }
}
