import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  formatTime,
  isAbsent,
  type KubeObject,
  maybeFields,
  names,
  sameJson,
  textOf,
  textsOf,
  validateLabelSelector,
} from '@capstan/machinery';
import { claimSpec, volumeSources } from '../pods/pod-defaults.ts';
import { checkNodeSelector } from '../pods/scheduling.ts';
import { applyDefaults, made } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { goForm } from '../shared/go-form.ts';
import { checkPositiveQuantity, compareAmounts } from '../shared/resources.ts';
import { separateStatus } from '../shared/status.ts';
import { changesBetween } from '../shared/unified-diff.ts';
import type { Strategy, StrategyContext } from '../strategy.ts';
import { checkDataSourceGroups, checkDataSources, dropUnreadSource, mirrorDataSource } from './data-source.ts';
import { checkSource, persistentSources, refuseSecond } from './volume-sources.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const volumeModes = ['Block', 'Filesystem'];
const at = FieldPath.of('spec');

function checkAccessModes(found: Findings, path: FieldPath, modes: readonly string[]): void {
  for (const mode of modes) if (!accessModes.includes(mode)) found.notSupported(path, mode, accessModes);
  if (modes.includes('ReadWriteOncePod') && modes.some((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode))) {
    found.forbidden(path, 'may not use ReadWriteOncePod with other access modes');
  }
}

function checkClass(found: Findings, path: FieldPath, value: unknown): void {
  if (textOf(value) !== '') found.invalid(path, value, names.dns1123Subdomain(textOf(value)));
}

function checkCapacity(found: Findings, capacity: Readonly<Fields>, shown: unknown): void {
  const path = at.child('capacity');
  if (Object.keys(capacity).length === 0) found.required(path);
  if (!Object.hasOwn(capacity, 'storage') || Object.keys(capacity).length > 1) found.notSupported(path, shown, ['storage']);
  for (const [name, value] of Object.entries(capacity)) {
    if (compareAmounts(value, '0') < 0) found.invalid(path.key(name), Number(value), 'must be a valid resource quantity');
    checkPositiveQuantity(found, path.key(name), value);
  }
}

function checkSources(found: Findings, spec: Readonly<Fields>, name: string): void {
  const given = persistentSources.filter((source) => !isAbsent(spec[source]));
  if (given.length === 0) found.required(at, 'must specify a volume type');
  for (const [index, source] of given.entries()) {
    // Kubernetes does not count this source.
    if (index > 0 && source !== 'flexVolume') refuseSecond(found, at, source);
    else checkSource(found, at, { source, fields: fieldsOf(spec[source]), persistentName: name });
    if (index === 0 && source === 'local' && isAbsent(spec['nodeAffinity']))
      found.required(at.child('nodeAffinity'), 'Local volume requires node affinity');
  }
}

function validateVolume(volume: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(volume['spec']);
  const modes = textsOf(spec['accessModes']);
  if (modes.length === 0) found.required(at.child('accessModes'));
  checkAccessModes(found, at.child('accessModes'), modes);
  checkCapacity(found, fieldsOf(spec['capacity']), spec['capacity'] ?? null);
  found.optionalOneOf(at.child('persistentVolumeReclaimPolicy'), spec['persistentVolumeReclaimPolicy'], ['Delete', 'Recycle', 'Retain']);
  const affinity = maybeFields(spec['nodeAffinity']);
  if (affinity !== undefined) {
    const required = maybeFields(affinity['required']);
    if (required === undefined) found.required(at.child('nodeAffinity', 'required'), 'must specify required node constraints');
    else checkNodeSelector(found, at.child('nodeAffinity', 'required'), required);
  }
  checkSources(found, spec, volume.metadata.name ?? '');
  checkClass(found, at.child('storageClassName'), spec['storageClassName']);
  found.optionalOneOf(at.child('volumeMode'), spec['volumeMode'], volumeModes);
  if (!isAbsent(spec['volumeAttributesClassName'])) {
    if (spec['volumeAttributesClassName'] === '') found.required(at.child('volumeAttributesClassName'), 'an empty string is disallowed');
    checkClass(found, at.child('volumeAttributesClassName'), spec['volumeAttributesClassName']);
    if (isAbsent(spec['csi'])) found.required(at.child('csi'), 'has to be specified when using volumeAttributesClassName');
  }
  return found.errors;
}

function validateVolumeUpdate(volume: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [spec, before] = [fieldsOf(volume['spec']), fieldsOf(old['spec'])];
  if (persistentSources.some((source) => !sameJson(spec[source], before[source]))) {
    const changes = changesBetween(goForm('PersistentVolumeSource', before), goForm('PersistentVolumeSource', spec));
    found.forbidden(at.child('persistentvolumesource'), `spec.persistentvolumesource is immutable after creation\n${changes}`);
  }
  found.immutable(FieldPath.of('volumeMode'), spec['volumeMode'], spec['volumeMode'] === before['volumeMode']);
  if (!isAbsent(before['nodeAffinity'])) {
    const affinity = maybeFields(spec['nodeAffinity']);
    if (!sameJson(affinity, before['nodeAffinity'])) {
      const shown = affinity === undefined ? null : goForm('VolumeNodeAffinity', affinity);
      found.invalid(FieldPath.of('nodeAffinity'), shown, 'field is immutable, except for updating from beta label to GA');
    }
  }
  return found.errors;
}

/** Validates the spec of a claim or claim template. */
export function checkClaimSpec(found: Findings, path: FieldPath, spec: Readonly<Fields>): void {
  const modes = textsOf(spec['accessModes']);
  if (modes.length === 0) found.required(path.child('accessModes'), 'at least 1 access mode is required');
  found.add(validateLabelSelector(maybeFields(spec['selector']), path.child('selector')));
  checkAccessModes(found, path.child('accessModes'), modes);
  const size = fieldsOf(fieldsOf(spec['resources'])['requests'])['storage'];
  if (isAbsent(size)) found.required(path.child('resources').key('storage'));
  else checkPositiveQuantity(found, path.child('resources').key('storage'), size);
  checkClass(found, path.child('storageClassName'), spec['storageClassName']);
  found.optionalOneOf(path.child('volumeMode'), spec['volumeMode'], volumeModes);
  checkDataSources(found, path, spec);
  const attributesClass = textOf(spec['volumeAttributesClassName']);
  if (attributesClass !== '')
    found.invalid(path.child('volumeAttributesClassName'), attributesClass, names.dns1123Subdomain(attributesClass));
}

const onlySizeMayChange = 'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

/** The updated spec without the permitted changes. */
function withPermitted(spec: Readonly<Fields>, before: Readonly<Fields>, isBound: boolean): Fields {
  const kept: Fields = { ...spec };
  if (isAbsent(before['storageClassName'])) delete kept['storageClassName'];
  if (!isBound) return kept;
  const resources = fieldsOf(spec['resources']);
  const storage = fieldsOf(fieldsOf(before['resources'])['requests'])['storage'];
  if (!isAbsent(resources['requests'])) kept['resources'] = { ...resources, requests: { ...fieldsOf(resources['requests']), storage } };
  if (!isAbsent(spec['volumeAttributesClassName'])) kept['volumeAttributesClassName'] = before['volumeAttributesClassName'];
  return kept;
}

function validateClaimUpdate(claim: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [spec, before] = [fieldsOf(claim['spec']), fieldsOf(old['spec'])];
  const isBound = fieldsOf(claim['status'])['phase'] === 'Bound';
  const volumeName = textOf(before['volumeName']) === '' ? spec['volumeName'] : before['volumeName'];
  const now = goForm('PersistentVolumeClaimSpec', withPermitted(spec, before, isBound));
  const then = goForm('PersistentVolumeClaimSpec', { ...before, volumeName });
  if (!sameJson(now, then)) found.forbidden(at, `${onlySizeMayChange}\n${changesBetween(then, now)}`);
  const [size, oldSize] = [spec, before].map((part) => fieldsOf(fieldsOf(part['resources'])['requests'])['storage']);
  const path = at.child('resources', 'requests', 'storage');
  if (compareAmounts(size, oldSize) < 0 && compareAmounts(size, fieldsOf(fieldsOf(old['status'])['capacity'])['storage']) <= 0) {
    found.forbidden(path, 'field can not be less than status.capacity');
  }
  found.immutable(FieldPath.of('volumeMode'), spec['volumeMode'], spec['volumeMode'] === before['volumeMode']);
  return found.errors;
}

const oldClassAnnotation = 'volume.beta.kubernetes.io/storage-class';

function warnOfOldClass({ metadata }: KubeObject, { warn }: StrategyContext): void {
  if (metadata.annotations === undefined || !Object.hasOwn(metadata.annotations, oldClassAnnotation)) return;
  warn(`metadata.annotations[${oldClassAnnotation}]: deprecated since v1.8; use "storageClassName" attribute instead`);
}

function warnOfOldVolume(volume: KubeObject, context: StrategyContext): void {
  warnOfOldClass(volume, context);
  if (fieldsOf(volume['spec'])['persistentVolumeReclaimPolicy'] !== 'Recycle') return;
  context.warn(
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
  );
}

const resizes = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
].sort();

function validateClaimStatus(claim: KubeObject): FieldError[] {
  const found = new Findings();
  if (textsOf(fieldsOf(claim['spec'])['accessModes']).length === 0) found.required(FieldPath.of('Spec', 'accessModes'));
  const status = fieldsOf(claim['status']);
  for (const field of ['capacity', 'allocatedResourceStatuses', 'allocatedResources']) {
    const path = FieldPath.of('status', field);
    for (const [name, value] of Object.entries(fieldsOf(status[field]))) {
      if (field !== 'capacity' && !checkResourceKey(found, path, name) && field === 'allocatedResources') continue;
      if (field === 'allocatedResourceStatuses') {
        if (!resizes.includes(textOf(value))) found.notSupported(path, name, resizes);
      } else if (compareAmounts(value, '0') < 0) found.invalid(path.key(name), Number(value), 'must be a valid resource quantity');
    }
  }
  return found.errors;
}

/** `storage` is the only native resource that a claim may request. */
function checkResourceKey(found: Findings, path: FieldPath, name: string): boolean {
  const problems = names.qualifiedName(name);
  found.invalid(path, name, problems);
  if (problems.length > 0) return false;
  const isOwn = !name.includes('/') || name.includes('kubernetes.io/');
  if (isOwn && name !== 'storage') found.notSupported(path, name, ['storage']);
  return !isOwn || name === 'storage';
}

export const volumeStrategies = new Map<string, Strategy>([
  [
    '/persistentvolumes',
    separateStatus({
      default: (volume) => {
        applyDefaults(made(volume, 'spec'), {
          set: { persistentVolumeReclaimPolicy: 'Retain' },
          setOptional: { volumeMode: 'Filesystem' },
          within: volumeSources,
        });
        applyDefaults(made(volume, 'status'), { set: { phase: 'Pending' } });
      },
      prepareForCreate: (volume, context) => {
        volume['status'] = { phase: 'Pending', lastPhaseTransitionTime: formatTime(context.now()) };
        warnOfOldVolume(volume, context);
      },
      prepareForUpdate: (volume, _, context) => warnOfOldVolume(volume, context),
      validate: validateVolume,
      validateUpdate: validateVolumeUpdate,
      returnDeletedObject: true,
      status: {
        prepareForUpdate: (volume, old, context) => {
          const [status, before] = [made(volume, 'status'), fieldsOf(old['status'])];
          const field = 'lastPhaseTransitionTime';
          if (status['phase'] === before['phase']) status[field] ??= before[field];
          else if (isAbsent(status[field]) || status[field] === before[field]) status[field] = formatTime(context.now());
        },
      },
    }),
  ],
  [
    '/persistentvolumeclaims',
    separateStatus(
      {
        default: (claim) => {
          applyDefaults(made(claim, 'spec'), claimSpec);
          applyDefaults(made(claim, 'status'), { set: { phase: 'Pending' } });
        },
        prepareForCreate: (claim, context) => {
          dropUnreadSource(claim);
          mirrorDataSource(claim);
          warnOfOldClass(claim, context);
        },
        prepareForUpdate: (claim, old, context) => {
          dropUnreadSource(claim, old);
          mirrorDataSource(claim);
          warnOfOldClass(claim, context);
        },
        validate: (claim) => {
          const found = new Findings();
          checkClaimSpec(found, at, fieldsOf(claim['spec']));
          return found.errors;
        },
        validateCreate: (claim) => {
          const found = new Findings();
          checkDataSourceGroups(found, at, fieldsOf(claim['spec']));
          return found.errors;
        },
        validateUpdate: validateClaimUpdate,
        status: { validate: validateClaimStatus },
        returnDeletedObject: true,
      },
      () => ({ phase: 'Pending' }),
    ),
  ],
]);
