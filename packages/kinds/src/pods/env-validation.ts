import { type FieldPath, type Fields, isAbsent, itemsOf, maybeFields, names, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { checkLocalPath, checkMode } from '../volumes/volume-paths.ts';

const environmentFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const volumeFields = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'];
/** All pod fields that can be referenced, in environment variables or in files. */
const knownFields = new Set([...environmentFields, ...volumeFields]);
const resourceFields = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

const environmentName = "a valid environment variable name must consist only of printable ASCII characters other than '='";

function environmentNameProblems(name: string): string[] {
  if (name === '') return ['environment variable name must not be empty'];
  return /^[ -<>-~]+$/.test(name) ? [] : [environmentName];
}

/** Validates a reference to a pod field from an environment variable or a file. */
function checkFieldReference(found: Findings, at: FieldPath, { reference, isFile }: { reference: Fields; isFile: boolean }): void {
  const path = textOf(reference['fieldPath']);
  if (path === '') {
    found.required(at.child('fieldPath'));
    return;
  }
  const subscript = path.length < 4 ? -1 : path.lastIndexOf("['", path.length - 4);
  if (subscript >= 0 && path.endsWith("']") && !/[\n\r\u2028\u2029]/.test(path)) {
    const [field, key] = [path.slice(0, subscript), path.slice(subscript + 2, -2)];
    if (field === 'metadata.annotations') found.invalid(at, key.toLowerCase(), names.qualifiedName(key.toLowerCase()));
    else if (field === 'metadata.labels') found.invalid(at, key, names.qualifiedName(key));
    else found.invalid(at.child('fieldPath'), path, `error converting fieldPath: field label does not support subscript: ${path}`);
    return;
  }
  const allowed = isFile ? volumeFields : environmentFields;
  if (!knownFields.has(path)) found.invalid(at.child('fieldPath'), path, `error converting fieldPath: field label not supported: ${path}`);
  else if (!allowed.includes(path)) found.notSupported(at.child('fieldPath'), path, allowed);
}

function checkResourceReference(found: Findings, at: FieldPath, { reference, isFile }: { reference: Fields; isFile: boolean }): void {
  const resource = textOf(reference['resource']);
  if (isFile && textOf(reference['containerName']) === '') found.required(at.child('containerName'));
  else if (resource === '') found.required(at.child('resource'));
  else if (!resourceFields.includes(resource) && !/^(requests|limits)\.hugepages-/.test(resource)) {
    found.notSupported(at.child('resource'), resource, resourceFields);
  }
}

function checkKeyReference(found: Findings, at: FieldPath, reference: Readonly<Fields>): void {
  const name = textOf(reference['name']);
  const key = textOf(reference['key']);
  found.invalid(at.child('name'), name, names.dns1123Subdomain(name));
  if (key === '') found.required(at.child('key'));
  else found.invalid(at.child('key'), key, names.configMapKey(key));
}

const oneSource = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`';

function checkValueFrom(found: Findings, at: FieldPath, { source, value }: { source: Fields; value: string }): void {
  const given = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'].filter(
    (field) => !isAbsent(source[field]),
  );
  for (const field of given) {
    const reference = maybeFields(source[field]) ?? {};
    if (field === 'fieldRef') checkFieldReference(found, at.child(field), { reference, isFile: false });
    else if (field === 'resourceFieldRef') checkResourceReference(found, at.child(field), { reference, isFile: false });
    else if (field !== 'fileKeyRef') checkKeyReference(found, at.child(field), reference);
  }
  if (given.length === 0) found.invalid(at, '', oneSource);
  else if (value !== '') found.invalid(at, '', 'may not be specified when `value` is not empty');
  else if (given.length > 1) found.invalid(at, '', 'may not have more than one field specified at a time');
}

export function checkEnvironment(found: Findings, at: FieldPath, variables: readonly Fields[]): void {
  for (const [index, variable] of variables.entries()) {
    const path = at.index(index);
    const name = textOf(variable['name']);
    if (name === '') found.required(path.child('name'));
    else found.invalid(path.child('name'), name, environmentNameProblems(name));
    const source = maybeFields(variable['valueFrom']);
    if (source !== undefined) checkValueFrom(found, path.child('valueFrom'), { source, value: textOf(variable['value']) });
  }
}

export function checkEnvironmentSources(found: Findings, at: FieldPath, sources: readonly Fields[]): void {
  for (const [index, source] of sources.entries()) {
    const path = at.index(index);
    const prefix = textOf(source['prefix']);
    if (prefix !== '') found.invalid(path.child('prefix'), prefix, environmentNameProblems(prefix));
    const given = ['configMapRef', 'secretRef'].filter((field) => !isAbsent(source[field]));
    for (const field of given) {
      const name = textOf(maybeFields(source[field])?.['name']);
      if (name === '') found.required(path.child(field, 'name'));
      else found.invalid(path.child(field, 'name'), name, names.dns1123Subdomain(name, true));
    }
    if (given.length === 0) found.invalid(at, '', 'must specify one of: `configMapRef` or `secretRef`');
    else if (given.length > 1) found.invalid(at, '', 'may not have more than one field specified at a time');
  }
}

/** Validates files that contain pod fields. */
export function checkDownwardFiles(found: Findings, at: FieldPath, files: unknown): void {
  for (const file of itemsOf(files)) {
    const field = maybeFields(file['fieldRef']);
    const resource = maybeFields(file['resourceFieldRef']);
    checkLocalPath(found, at.child('path'), textOf(file['path']));
    if (field !== undefined) {
      checkFieldReference(found, at.child('fieldRef'), { reference: field, isFile: true });
      if (resource !== undefined) found.invalid(at, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    } else if (resource !== undefined) checkResourceReference(found, at.child('resourceFieldRef'), { reference: resource, isFile: true });
    else found.required(at, 'one of fieldRef and resourceFieldRef is required');
    checkMode(found, at.child('mode'), file['mode']);
  }
}
