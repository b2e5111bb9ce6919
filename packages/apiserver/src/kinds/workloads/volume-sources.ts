import { type FieldPath, fieldError, names } from '@capstan/machinery';
import type { Findings } from './findings.ts';
import { checkIscsi } from './pod-details-validation.ts';
import { type Fields, itemsOf, textOf } from './reading.ts';

/** The fields of a persistent volume that name where it is, in the order in which they are looked at. */
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

/** Fields without which a source says nothing. */
const requiredFields = new Map<string, readonly string[]>([
  ['hostPath', ['path']],
  ['gcePersistentDisk', ['pdName']],
  ['awsElasticBlockStore', ['volumeID']],
  ['glusterfs', ['endpoints', 'path']],
  ['nfs', ['server', 'path']],
  ['rbd', ['image']],
  ['cinder', ['volumeID']],
  ['iscsi', ['targetPortal', 'iqn']],
  ['flexVolume', ['driver']],
  ['azureFile', ['secretName', 'shareName']],
  ['vsphereVolume', ['volumePath']],
  ['portworxVolume', ['volumeID']],
  ['azureDisk', ['diskName', 'diskURI']],
  ['local', ['path']],
  ['secret', ['secretName']],
  ['configMap', ['name']],
  ['persistentVolumeClaim', ['claimName']],
]);

const hostPathTypes = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'];

const longestDriver = 63;

/** Names of drivers: domains, in which upper case is let through. */
export function checkDriverName(found: Findings, at: FieldPath, name: string): void {
  if (name === '') found.required(at);
  if (Buffer.byteLength(name) > longestDriver) found.add([fieldError.tooLong(at, longestDriver)]);
  found.invalid(at, name, names.dns1123Subdomain(name.toLowerCase()));
}

export function backstepProblem(path: string): string | undefined {
  return path.split('/').includes('..') ? "must not contain '..'" : undefined;
}

interface Source {
  readonly source: string;
  readonly fields: Readonly<Fields>;
}

export function checkSource(found: Findings, at: FieldPath, { source, fields }: Source): void {
  for (const name of requiredFields.get(source) ?? []) if (textOf(fields[name]) === '') found.required(at.child(name));
  const path = textOf(fields['path']);
  const backstep = backstepProblem(path);
  if ((source === 'hostPath' || source === 'local') && backstep !== undefined) found.invalid(at.child('path'), path, backstep);
  if (source === 'hostPath') found.optionalOneOf(at.child('type'), fields['type'], hostPathTypes);
  if (source === 'iscsi') checkIscsi(found, at, fields);
  if (source === 'nfs' && !path.startsWith('/')) found.invalid(at.child('path'), path, 'must be an absolute path');
  if (source === 'csi') {
    checkDriverName(found, at.child('driver'), textOf(fields['driver']));
    if (persistentCsi(at) && textOf(fields['volumeHandle']) === '') found.required(at.child('volumeHandle'));
  }
  if (source === 'configMap' || source === 'secret') checkItems(found, at, fields);
}

/** A volume in a pod has no handle: its driver makes it. */
function persistentCsi(at: FieldPath): boolean {
  return at.toString() === 'spec.csi';
}

export function checkItems(found: Findings, at: FieldPath, fields: Readonly<Fields>): void {
  checkMode(found, at.child('defaultMode'), fields['defaultMode']);
  for (const [index, item] of itemsOf(fields['items']).entries()) {
    const path = at.child('items').index(index);
    if (textOf(item['key']) === '') found.required(path.child('key'));
    checkLocalPath(found, path.child('path'), textOf(item['path']));
    checkMode(found, path.child('mode'), item['mode']);
  }
}

export function checkMode(found: Findings, at: FieldPath, mode: unknown): void {
  if (typeof mode === 'number' && (mode < 0 || mode > 0o777)) {
    found.invalid(at, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
  }
}

/** A path inside a volume: relative, and staying there. */
export function checkLocalPath(found: Findings, at: FieldPath, path: string): void {
  if (path === '') {
    found.required(at);
    return;
  }
  if (path.startsWith('/')) found.invalid(at, path, 'must be a relative path');
  const backstep = backstepProblem(path);
  if (backstep !== undefined) found.invalid(at, path, backstep);
  else if (path.startsWith('..')) found.invalid(at, path, "must not start with '..'");
}
