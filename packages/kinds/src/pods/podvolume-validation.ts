import { type FieldPath, type Fields, fieldsOf, isAbsent, itemsOf, maybeFields, names, numberOf, textOf } from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';
import { compareAmounts } from '../shared/resources.ts';
import { checkNameLength } from '../volumes/iscsi.ts';
import { checkClaimSpec } from '../volumes/volume.ts';
import { checkItems, checkLocalPath, checkMode } from '../volumes/volume-paths.ts';
import { checkSource, refuseSecond } from '../volumes/volume-sources.ts';
import { checkDownwardFiles } from './env-validation.ts';
import type { Volumes } from './mount-validation.ts';

/** In the order of validation; if several are set, the first one counts. */
const sources = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
];

const tenMinutes = 600;
const longestToken = 2 ** 32;

/** Tracks the files of a volume, since all of its sources share one directory. */
class Files {
  readonly #found: Findings;
  readonly #at: FieldPath;
  readonly #seen = new Set<string>();

  constructor(found: Findings, at: FieldPath) {
    this.#found = found;
    this.#at = at;
  }

  add(path: string, shown: string): void {
    if (path === '') return;
    if (this.#seen.has(path)) this.#found.invalid(this.#at, shown, 'conflicting duplicate paths');
    this.#seen.add(path);
  }
}

function checkProjected(found: Findings, at: FieldPath, projected: Readonly<Fields>): void {
  checkMode(found, at.child('defaultMode'), projected['defaultMode']);
  const files = new Files(found, at);
  for (const [index, source] of itemsOf(projected['sources']).entries()) {
    const path = at.child('sources').index(index);
    for (const kind of ['secret', 'configMap']) {
      const fields = maybeFields(source[kind]);
      if (fields === undefined) continue;
      if (textOf(fields['name']) === '') found.required(path.child(kind, 'name'));
      checkItems(found, path.child(kind), fields);
      for (const item of itemsOf(fields['items'])) files.add(textOf(item['path']), textOf(fields['name']));
    }
    const downward = itemsOf(fieldsOf(source['downwardAPI'])['items']);
    checkDownwardFiles(found, path.child('downwardAPI'), downward);
    for (const file of downward) files.add(textOf(file['path']), textOf(file['path']));
    const token = maybeFields(source['serviceAccountToken']);
    if (token !== undefined) checkToken(found, at, { token, path: path.child('serviceAccountToken') });
    if (Object.keys(source).filter((kind) => !isAbsent(source[kind])).length > 1) {
      found.forbidden(path, 'may not specify more than 1 volume type per source');
    }
  }
}

function checkToken(found: Findings, at: FieldPath, { token, path }: { token: Fields; path: FieldPath }): void {
  const seconds = numberOf(token['expirationSeconds']);
  if (seconds < tenMinutes) found.invalid(path.child('expirationSeconds'), seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > longestToken)
    found.invalid(path.child('expirationSeconds'), seconds, 'may not specify a duration larger than 2^32 seconds');
  checkLocalPath(found, at.child('path'), textOf(token['path']));
}

interface Checked {
  readonly source: string;
  readonly volume: Readonly<Fields>;
  readonly isPod: boolean;
}

function checkFirst(found: Findings, at: FieldPath, { source, volume, isPod }: Checked): void {
  const path = at.child(source);
  const fields = fieldsOf(volume[source]);
  switch (source) {
    case 'projected':
      return checkProjected(found, path, fields);
    case 'downwardAPI':
      checkMode(found, path.child('defaultMode'), fields['defaultMode']);
      return checkDownwardFiles(found, path, fields['items']);
    case 'ephemeral':
      return checkEphemeral(found, path, fields);
    case 'image':
      if (isPod && textOf(fields['reference']) === '') found.required(path.child('reference'));
      return found.oneOf(path.child('pullPolicy'), fields['pullPolicy'], ['Always', 'IfNotPresent', 'Never']);
    case 'emptyDir':
      if (!isAbsent(fields['sizeLimit']) && compareAmounts(fields['sizeLimit'], '0') < 0)
        found.forbidden(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity');
      return;
    default:
      checkSource(found, at, { source, fields });
  }
}

function checkVolumeSource(found: Findings, at: FieldPath, { volume, isPod }: { volume: Readonly<Fields>; isPod: boolean }): void {
  const given = sources.filter((source) => !isAbsent(volume[source]));
  for (const [index, source] of given.entries()) {
    if (index > 0) refuseSecond(found, at, source);
    else checkFirst(found, at, { source, volume, isPod });
    if (source === 'iscsi') {
      const name = textOf(volume['name']);
      checkNameLength(found, at.child('name'), { fields: fieldsOf(volume[source]), name, shown: name });
    }
  }
  if (given.length === 0) found.required(at, 'must specify a volume type');
}

function checkEphemeral(found: Findings, at: FieldPath, fields: Readonly<Fields>): void {
  const template = maybeFields(fields['volumeClaimTemplate']);
  if (template === undefined) found.required(at.child('volumeClaimTemplate'));
  else checkClaimSpec(found, at.child('volumeClaimTemplate', 'spec'), fieldsOf(template['spec']));
}

/** Returns the valid volumes by name. As in Kubernetes, mounts of invalid ones are reported as not found. */
export function checkVolumes(found: Findings, at: FieldPath, { volumes, isPod }: { volumes: readonly Fields[]; isPod: boolean }): Volumes {
  const good = new Map<string, Fields>();
  for (const [index, volume] of volumes.entries()) {
    const path = at.index(index);
    const name = textOf(volume['name']);
    const own = new Findings();
    checkVolumeSource(own, path, { volume, isPod });
    if (name === '') own.required(path.child('name'));
    else own.invalid(path.child('name'), name, names.dns1123Label(name));
    if (good.has(name)) own.duplicate(path.child('name'), name);
    if (own.errors.length === 0) good.set(name, volume);
    found.add(own.errors);
  }
  return good;
}
