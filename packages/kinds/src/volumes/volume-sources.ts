import {
  type FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  isAbsent,
  maybeFields,
  names,
  numberOf,
  textOf,
  textsOf,
} from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { checkIscsi } from './iscsi.ts';
import { backstepProblem, checkDescendingPath, checkItems } from './volume-paths.ts';

/** The source fields of a persistent volume, in the order of validation. */
export const persistentSources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const;

/** Required fields of each source. */
const requiredFields = new Map<string, readonly string[]>([
  ['hostPath', ['path']],
  ['gcePersistentDisk', ['pdName']],
  ['gitRepo', ['repository']],
  ['awsElasticBlockStore', ['volumeID']],
  ['glusterfs', ['endpoints', 'path']],
  ['nfs', ['server', 'path']],
  ['cinder', ['volumeID']],
  ['flexVolume', ['driver']],
  ['azureFile', ['secretName', 'shareName']],
  ['vsphereVolume', ['volumePath']],
  ['photonPersistentDisk', ['pdID']],
  ['portworxVolume', ['volumeID']],
  ['azureDisk', ['diskName', 'diskURI']],
  ['scaleIO', ['gateway', 'system', 'volumeName']],
  ['local', ['path']],
  ['storageos', ['volumeName']],
  ['secret', ['secretName']],
  ['configMap', ['name']],
  ['persistentVolumeClaim', ['claimName']],
]);

const hostPathTypes = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'];

const longestDriver = 63;

/** A driver name is a domain, in which upper case is allowed. */
export function checkDriverName(found: Findings, at: FieldPath, name: string): void {
  if (name === '') found.required(at);
  if (Buffer.byteLength(name) > longestDriver) found.add([fieldError.tooLong(at, longestDriver)]);
  found.invalid(at, name, names.dns1123Subdomain(name.toLowerCase()));
}

interface Source {
  readonly source: string;
  readonly fields: Readonly<Fields>;
  /** The name of the persistent volume; undefined for a pod's volume. */
  readonly persistentName?: string;
}

type Check = (found: Findings, at: FieldPath, source: Source) => void;

/** Validates a reference to a secret; persistent volumes must also set its namespace. */
function checkSecret(found: Findings, at: FieldPath, { secret, isPersistent }: { secret: unknown; isPersistent: boolean }): void {
  const fields = maybeFields(secret);
  if (fields === undefined) return;
  if (textOf(fields['name']) === '') found.required(at.child('name'));
  if (isPersistent && textOf(fields['namespace']) === '') found.required(at.child('namespace'));
}

const csiSecrets = ['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'];

function checkCsi(found: Findings, at: FieldPath, { fields, persistentName }: Source): void {
  checkDriverName(found, at.child('driver'), textOf(fields['driver']));
  if (persistentName === undefined) {
    const name = textOf(maybeFields(fields['nodePublishSecretRef'])?.['name']);
    if (name !== '') found.invalid(at.child('name'), name, names.dns1123Subdomain(name));
    else if (!isAbsent(fields['nodePublishSecretRef'])) found.required(at.child('nodePublishSecretRef', 'name'));
    return;
  }
  if (textOf(fields['volumeHandle']) === '') found.required(at.child('volumeHandle'));
  for (const field of csiSecrets) {
    const secret = maybeFields(fields[field]);
    if (secret === undefined) continue;
    const [name, namespace] = [textOf(secret['name']), textOf(secret['namespace'])];
    if (name === '') found.required(at.child(field, 'name'));
    else found.invalid(at.child(field, 'name'), name, names.dns1123Subdomain(name));
    if (namespace === '') found.required(at.child(field, 'namespace'));
    else found.invalid(at.child(field, 'namespace'), namespace, names.dns1123Label(namespace));
  }
}

function checkPartition(found: Findings, at: FieldPath, { fields }: Source): void {
  const partition = numberOf(fields['partition']);
  if (partition < 0 || partition > 255) found.invalid(at.child('partition'), partition, 'must be between 1 and 255, inclusive');
}

function checkAzureDisk(found: Findings, at: FieldPath, { fields }: Source): void {
  found.optionalOneOf(at.child('cachingMode'), fields['cachingMode'], ['None', 'ReadOnly', 'ReadWrite']);
  found.optionalOneOf(at.child('kind'), fields['kind'], ['Dedicated', 'Managed', 'Shared']);
  if (isAbsent(fields['kind'])) return;
  const isManaged = fields['kind'] === 'Managed';
  const address = textOf(fields['diskURI']);
  if (address.startsWith(isManaged ? '/subscriptions/' : 'https://')) return;
  const form = isManaged
    ? '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
    : 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';
  found.notSupported(at.child('diskURI'), address, [form]);
}

function checkFibreChannel(found: Findings, at: FieldPath, { fields }: Source): void {
  const [targets, ids] = [textsOf(fields['targetWWNs']), textsOf(fields['wwids'])];
  const path = at.child('targetWWNs');
  if (targets.length === 0 && ids.length === 0) found.required(path, 'must specify either targetWWNs or wwids, but not both');
  if (targets.length === 0) return;
  if (ids.length > 0) found.invalid(path, targets, 'targetWWNs and wwids can not be specified simultaneously');
  const lun = numberOf(fields['lun']);
  if (isAbsent(fields['lun'])) found.required(at.child('lun'), 'lun is required if targetWWNs is specified');
  else if (lun < 0 || lun > 255) found.invalid(at.child('lun'), lun, names.rangeMessage(0, 255));
}

/** Each error shows the whole list, which may have a million pairs. */
const mostWrongPairs = 100;

function checkQuobyte(found: Findings, at: FieldPath, { fields }: Source): void {
  const rule = 'must be a host:port pair or multiple pairs separated by commas';
  const registry = textOf(fields['registry']);
  if (registry === '') found.required(at.child('registry'), rule);
  else if (textOf(fields['tenant']).length >= 65)
    found.required(at.child('tenant'), 'must be a UUID and may not exceed a length of 64 characters');
  else {
    const wrong = registry.split(',').filter((pair) => !/^(?:[^:[\]]*|\[[^[\]]*\]):[^:]*$/.test(pair));
    for (const _ of wrong.slice(0, mostWrongPairs)) found.invalid(at.child('registry'), registry, rule);
  }
  if (textOf(fields['volume']) === '') found.required(at.child('volume'));
}

function checkFlocker(found: Findings, at: FieldPath, { fields }: Source): void {
  const [name, uuid] = [textOf(fields['datasetName']), textOf(fields['datasetUUID'])];
  if (name === '' && uuid === '') found.required(at, 'one of datasetName and datasetUUID is required');
  if (name !== '' && uuid !== '') found.invalid(at, 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
  if (name.includes('/')) found.invalid(at.child('datasetName'), name, "must not contain '/'");
}

function checkFlex(found: Findings, at: FieldPath, { fields }: Source): void {
  for (const option of Object.keys(fieldsOf(fields['options']))) {
    const domain = `.${option.split('/', 1)[0]!.toLowerCase()}`;
    if (domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io'))
      found.invalid(at.child('options').key(option), option, 'kubernetes.io and k8s.io namespaces are reserved');
  }
}

function checkStorageOs(found: Findings, at: FieldPath, { fields, persistentName }: Source): void {
  for (const field of ['volumeName', 'volumeNamespace']) {
    const name = textOf(fields[field]);
    if (name !== '') found.invalid(at.child(field), name, names.dns1123Label(name));
  }
  checkSecret(found, at.child('secretRef'), { secret: fields['secretRef'], isPersistent: persistentName !== undefined });
}

/** Validation of each source beyond its required fields. */
const checks = new Map<string, Check>([
  [
    'hostPath',
    (found, at, { fields }) => {
      const path = textOf(fields['path']);
      if (path === '') return;
      const backstep = backstepProblem(path);
      if (backstep !== undefined) found.invalid(at.child('path'), path, backstep);
      found.optionalOneOf(at.child('type'), fields['type'], hostPathTypes);
    },
  ],
  [
    'local',
    (found, at, { fields }) => {
      const backstep = backstepProblem(textOf(fields['path']));
      if (backstep !== undefined) found.invalid(at.child('path'), fields['path'], backstep);
    },
  ],
  ['gitRepo', (found, at, { fields }) => checkDescendingPath(found, at.child('directory'), textOf(fields['directory']))],
  ['gcePersistentDisk', checkPartition],
  ['awsElasticBlockStore', checkPartition],
  [
    'nfs',
    (found, at, { fields }) => {
      const path = textOf(fields['path']);
      if (!path.startsWith('/')) found.invalid(at.child('path'), path, 'must be an absolute path');
    },
  ],
  [
    'rbd',
    (found, at, { fields }) => {
      if (textsOf(fields['monitors']).length === 0) found.required(at.child('monitors'));
      if (textOf(fields['image']) === '') found.required(at.child('image'));
    },
  ],
  [
    'cephfs',
    (found, at, { fields }) => {
      if (textsOf(fields['monitors']).length === 0) found.required(at.child('monitors'));
    },
  ],
  [
    'cinder',
    (found, at, { fields, persistentName }) =>
      checkSecret(found, at.child('secretRef'), { secret: fields['secretRef'], isPersistent: persistentName !== undefined }),
  ],
  ['iscsi', (found, at, { fields, persistentName }) => checkIscsi(found, at, { fields, persistentName })],
  ['fc', checkFibreChannel],
  ['quobyte', checkQuobyte],
  ['flocker', checkFlocker],
  ['flexVolume', checkFlex],
  ['azureDisk', checkAzureDisk],
  [
    'azureFile',
    (found, at, { fields, persistentName }) => {
      if (persistentName !== undefined && fields['secretNamespace'] === '') found.required(at.child('secretNamespace'));
    },
  ],
  ['storageos', checkStorageOs],
  ['csi', checkCsi],
  ['configMap', (found, at, { fields }) => checkItems(found, at, fields)],
  ['secret', (found, at, { fields }) => checkItems(found, at, fields)],
]);

/** `at` is the parent of the source; Kubernetes prints a different name for one of the sources. */
export function checkSource(found: Findings, at: FieldPath, source: Source): void {
  const path = at.child(source.source === 'gcePersistentDisk' ? 'persistentDisk' : source.source);
  for (const name of requiredFields.get(source.source) ?? []) if (textOf(source.fields[name]) === '') found.required(path.child(name));
  checks.get(source.source)?.(found, path, source);
}

/** The names that Kubernetes prints for a second source. */
const misnamed = new Map([
  ['cephfs', 'cephFS'],
  ['downwardAPI', 'downwarAPI'],
]);

export function refuseSecond(found: Findings, at: FieldPath, source: string): void {
  found.forbidden(at.child(misnamed.get(source) ?? source), 'may not specify more than 1 volume type');
}
