import { type FieldPath, names } from '@capstan/machinery';
import { checkDownwardFiles } from './env-validation.ts';
import { Findings } from './findings.ts';
import type { Volumes } from './mount-validation.ts';
import { type Fields, fieldsOf, isAbsent, itemsOf, maybeFields, numberOf, textOf } from './reading.ts';
import { compareAmounts } from './resources.ts';
import { checkClaimSpec } from './volume.ts';
import { checkItems, checkLocalPath, checkMode, checkSource, persistentSources } from './volume-sources.ts';

/** In the order in which they are looked at; the first one found counts. */
const sources = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'secret',
  'persistentVolumeClaim',
  'downwardAPI',
  'configMap',
  'projected',
  'ephemeral',
  'image',
  ...persistentSources.filter((source) => source !== 'hostPath' && source !== 'local'),
];

const tenMinutes = 600;

function checkProjected(found: Findings, at: FieldPath, projected: Readonly<Fields>): void {
  checkMode(found, at.child('defaultMode'), projected['defaultMode']);
  for (const [index, source] of itemsOf(projected['sources']).entries()) {
    const path = at.child('sources').index(index);
    for (const kind of ['secret', 'configMap']) {
      const fields = maybeFields(source[kind]);
      if (fields === undefined) continue;
      if (textOf(fields['name']) === '') found.required(path.child(kind, 'name'));
      checkItems(found, path.child(kind), fields);
    }
    if (!isAbsent(source['downwardAPI'])) checkDownwardFiles(found, path.child('downwardAPI'), fieldsOf(source['downwardAPI'])['items']);
    const token = maybeFields(source['serviceAccountToken']);
    if (token !== undefined) {
      if (numberOf(token['expirationSeconds']) < tenMinutes) {
        const rule = 'may not specify a duration less than 10 minutes';
        found.invalid(path.child('serviceAccountToken', 'expirationSeconds'), numberOf(token['expirationSeconds']), rule);
      }
      checkLocalPath(found, at.child('path'), textOf(token['path']));
    }
    if (Object.keys(source).filter((kind) => !isAbsent(source[kind])).length > 1) {
      found.forbidden(path, 'may not specify more than 1 volume type per source');
    }
  }
}

function checkVolumeSource(found: Findings, at: FieldPath, volume: Readonly<Fields>): void {
  const given = sources.filter((source) => !isAbsent(volume[source]));
  if (given.length === 0) found.required(at, 'must specify a volume type');
  for (const [index, source] of given.entries()) {
    const path = at.child(source);
    const fields = fieldsOf(volume[source]);
    if (index > 0) found.forbidden(path, 'may not specify more than 1 volume type');
    else if (source === 'projected') checkProjected(found, path, fields);
    else if (source === 'downwardAPI') {
      checkMode(found, path.child('defaultMode'), fields['defaultMode']);
      checkDownwardFiles(found, path, fields['items']);
    } else if (source === 'ephemeral') checkEphemeral(found, path, fields);
    else if (source === 'emptyDir') {
      if (!isAbsent(fields['sizeLimit']) && compareAmounts(fields['sizeLimit'], '0') < 0) {
        found.forbidden(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity');
      }
    } else checkSource(found, path, { source, fields });
  }
}

function checkEphemeral(found: Findings, at: FieldPath, fields: Readonly<Fields>): void {
  const template = maybeFields(fields['volumeClaimTemplate']);
  if (template === undefined) found.required(at.child('volumeClaimTemplate'));
  else checkClaimSpec(found, at.child('volumeClaimTemplate', 'spec'), fieldsOf(template['spec']));
}

/** Gives the volumes that are good, so that mounts of bad ones are not blamed a second time as missing. */
export function checkVolumes(found: Findings, at: FieldPath, volumes: readonly Fields[]): Volumes {
  const good = new Map<string, Fields>();
  for (const [index, volume] of volumes.entries()) {
    const path = at.index(index);
    const name = textOf(volume['name']);
    const own = new Findings();
    checkVolumeSource(own, path, volume);
    if (name === '') own.required(path.child('name'));
    else own.invalid(path.child('name'), name, names.dns1123Label(name));
    if (good.has(name)) own.duplicate(path.child('name'), name);
    if (own.errors.length === 0) good.set(name, volume);
    found.add(own.errors);
  }
  return good;
}
