import {
  type FieldError,
  FieldPath,
  fieldError,
  fieldsOf,
  isAbsent,
  itemsOf,
  jsonKey,
  type KubeObject,
  names,
  numberOf,
  sameJson,
  stringMapOf,
  textOf,
  textsOf,
  validateLabelSelector,
} from '@capstan/machinery';
import { applyDefaults, made } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { goForm } from '../shared/go-form.ts';
import { repeats } from '../shared/repeats.ts';
import { checkNonNegativeQuantity } from '../shared/resources.ts';
import { keepMetadata, separateStatus } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { checkDriverName } from '../volumes/volume-sources.ts';

const mostParameters = 512;
const parametersSize = 256 * 1024;

function checkProvisioner(found: Findings, at: FieldPath, value: string): void {
  if (value === '') found.required(at);
  else found.invalid(at, value.toLowerCase(), names.qualifiedName(value.toLowerCase()));
}

function checkParameters(found: Findings, parameters: Readonly<Record<string, string>>, mayBeEmpty: boolean): void {
  const at = FieldPath.of('parameters');
  const entries = Object.entries(parameters);
  if (entries.length > mostParameters) {
    found.add([fieldError.tooLong(at, mostParameters)]);
    return;
  }
  if (entries.some(([key]) => key === '')) found.invalid(at, '', 'field can not be empty.');
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (size > parametersSize) found.add([fieldError.tooLong(at, parametersSize)]);
  if (!mayBeEmpty && entries.length === 0) found.required(at, 'must contain at least one key/value pair');
}

/** Rejects changes of these fields, with this group's message. */
function forbidChanges(object: KubeObject, old: KubeObject, fields: readonly string[]): FieldError[] {
  const found = new Findings();
  for (const field of fields) {
    if (!sameJson(object[field], old[field])) found.forbidden(FieldPath.of(field), `updates to ${field} are forbidden.`);
  }
  return found.errors;
}

function validateStorageClass(object: KubeObject): FieldError[] {
  const found = new Findings();
  checkProvisioner(found, FieldPath.of('provisioner'), textOf(object['provisioner']));
  checkParameters(found, stringMapOf(object['parameters']), true);
  found.optionalOneOf(FieldPath.of('reclaimPolicy'), object['reclaimPolicy'], ['Delete', 'Retain']);
  found.oneOf(FieldPath.of('volumeBindingMode'), object['volumeBindingMode'], ['Immediate', 'WaitForFirstConsumer']);
  const isRepeatedTerm = repeats<string>();
  for (const [index, term] of itemsOf(object['allowedTopologies']).entries()) {
    const isEmpty = itemsOf(term['matchLabelExpressions']).length === 0;
    if (isRepeatedTerm(jsonKey(term)) || isEmpty) {
      found.duplicate(FieldPath.of('allowedTopologies').index(index).child('matchLabelExpressions'), '');
    }
    for (const [position, { key, values }] of itemsOf(term['matchLabelExpressions']).entries()) {
      const at = FieldPath.of('allowedTopologies').index(index).child('matchLabelExpressions').index(position);
      const given = textsOf(values);
      if (given.length === 0) found.required(at.child('values'));
      const isRepeated = repeats<string>();
      for (const [place, value] of given.entries()) {
        if (isRepeated(value)) found.duplicate(at.child('values').index(place), value);
      }
      found.invalid(at.child('key'), textOf(key), names.qualifiedName(textOf(key)));
    }
  }
  return found.errors;
}

const driverDefaults = {
  attachRequired: true,
  podInfoOnMount: false,
  storageCapacity: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  requiresRepublish: false,
  seLinuxMount: false,
};

function defaultDriver(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, { setOptional: driverDefaults });
  if (textsOf(spec['volumeLifecycleModes']).length === 0) spec['volumeLifecycleModes'] = ['Persistent'];
}

/** The generation starts at 0: an unchanged driver has none. */
function countChanges(object: KubeObject, old: KubeObject): void {
  if (!sameJson(object['spec'], old['spec'])) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

const tenMinutes = 600;

function validateDriver(object: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(object['spec']);
  const at = FieldPath.of('spec');
  found.optionalOneOf(at.child('fsGroupPolicy'), spec['fsGroupPolicy'], ['File', 'None', 'ReadWriteOnceWithFSType']);
  const audiences = new Set<string>();
  for (const [index, request] of itemsOf(spec['tokenRequests']).entries()) {
    const audience = textOf(request['audience']);
    const path = at.child('tokenRequests').index(index);
    if (audiences.has(audience)) found.duplicate(path.child('audience'), audience);
    else if (!isAbsent(request['expirationSeconds']) && numberOf(request['expirationSeconds']) < tenMinutes) {
      found.invalid(path.child('expirationSeconds'), request['expirationSeconds'], 'may not specify a duration less than 10 minutes');
    }
    audiences.add(audience);
  }
  for (const mode of textsOf(spec['volumeLifecycleModes'])) {
    found.optionalOneOf(at.child('volumeLifecycleModes'), mode, ['Persistent', 'Ephemeral']);
  }
  return found.errors;
}

function validateDriverUpdate(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [spec, before] = [fieldsOf(object['spec']), fieldsOf(old['spec'])];
  const at = FieldPath.of('spec');
  found.immutable(at.child('attachedRequired'), spec['attachRequired'], spec['attachRequired'] === before['attachRequired']);
  const modes = 'volumeLifecycleModes';
  found.immutable(at.child(modes), spec[modes], sameJson(spec[modes], before[modes]));
  return found.errors;
}

function validateNode(object: KubeObject): FieldError[] {
  const found = new Findings();
  const seen = new Set<string>();
  for (const [index, driver] of itemsOf(fieldsOf(object['spec'])['drivers']).entries()) {
    const at = FieldPath.of('spec', 'drivers').index(index);
    const name = textOf(driver['name']);
    checkDriverName(found, at.child('name'), name);
    if (textOf(driver['nodeID']) === '') found.required(at.child('nodeID'));
    found.nonNegative(at.child('allocatable', 'count'), fieldsOf(driver['allocatable'])['count']);
    if (seen.has(name)) found.duplicate(at.child('name'), name);
    seen.add(name);
    const isRepeated = repeats<string>();
    for (const key of textsOf(driver['topologyKeys'])) {
      if (key === '') found.required(at);
      if (isRepeated(key)) found.duplicate(at, key);
      found.invalid(at, key, names.qualifiedName(key));
    }
  }
  return found.errors;
}

/** A driver on a node cannot be changed, only removed. */
function validateNodeUpdate(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const drivers = Map.groupBy(itemsOf(fieldsOf(object['spec'])['drivers']), ({ name }) => name);
  for (const before of itemsOf(fieldsOf(old['spec'])['drivers'])) {
    for (const driver of drivers.get(before['name']) ?? [])
      found.immutable(FieldPath.of('spec', 'drivers'), goForm('CSINodeDriver', driver), sameJson(driver, before));
  }
  return found.errors;
}

const oneSource = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

function validateAttachment(object: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(object['spec']);
  const source = fieldsOf(spec['source']);
  const at = FieldPath.of('spec');
  if (textOf(spec['attacher']) === '') found.required(at.child('attacher'));
  const inline = !isAbsent(source['inlineVolumeSpec']);
  const named = !isAbsent(source['persistentVolumeName']);
  if (!inline && !named) found.required(at.child('source'), oneSource);
  else if (inline && named) found.forbidden(at.child('source'), oneSource);
  else if (source['persistentVolumeName'] === '') {
    found.required(at.child('source', 'persistentVolumeName'), 'must specify non empty persistentVolumeName');
  }
  const node = textOf(spec['nodeName']);
  found.invalid(at.child('nodeName'), node, names.dns1123Subdomain(node));
  return found.errors;
}

function validateNewAttachment(object: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(object['spec']);
  const at = FieldPath.of('spec');
  checkDriverName(found, at.child('attacher'), textOf(spec['attacher']));
  const volume = fieldsOf(spec['source'])['persistentVolumeName'];
  if (!isAbsent(volume)) found.invalid(at.child('source', 'persistentVolumeName'), volume, names.dns1123Subdomain(textOf(volume)));
  return found.errors;
}

function immutableAttachment(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(object['spec']);
  const { persistentVolumeName = null, inlineVolumeSpec = null } = fieldsOf(spec['source']);
  const shown = {
    Attacher: textOf(spec['attacher']),
    Source: { PersistentVolumeName: persistentVolumeName, InlineVolumeSpec: inlineVolumeSpec },
    NodeName: textOf(spec['nodeName']),
  };
  found.immutable(FieldPath.of('spec'), shown, sameJson(object['spec'], old['spec']));
  return found.errors;
}

function validateCapacity(object: KubeObject): FieldError[] {
  const found = new Findings();
  found.add(validateLabelSelector(fieldsOf(object['nodeTopology']), FieldPath.of('nodeTopology')));
  const storageClass = textOf(object['storageClassName']);
  found.invalid(FieldPath.of('storageClassName'), storageClass, names.dns1123Subdomain(storageClass));
  if (!isAbsent(object['capacity'])) checkNonNegativeQuantity(found, FieldPath.of('capacity'), object['capacity']);
  return found.errors;
}

function validateCapacityUpdate(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  for (const field of ['nodeTopology', 'storageClassName']) {
    found.immutable(FieldPath.of(field), object[field], sameJson(object[field], old[field]));
  }
  return found.errors;
}

export const storageStrategies = new Map<string, Strategy>([
  [
    'storage.k8s.io/storageclasses',
    {
      default: (object) => applyDefaults(object, { setOptional: { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' } }),
      validate: validateStorageClass,
      validateUpdate: (object, old) => {
        const found = new Findings();
        found.add(forbidChanges(object, old, ['parameters', 'provisioner', 'reclaimPolicy']));
        const mode = object['volumeBindingMode'];
        found.immutable(FieldPath.of('volumeBindingMode'), mode, mode === old['volumeBindingMode']);
        return found.errors;
      },
      returnDeletedObject: true,
    },
  ],
  [
    'storage.k8s.io/volumeattributesclasses',
    {
      validate: (object) => {
        const found = new Findings();
        checkProvisioner(found, FieldPath.of('driverName'), textOf(object['driverName']));
        checkParameters(found, stringMapOf(object['parameters']), false);
        return found.errors;
      },
      validateUpdate: (object, old) => forbidChanges(object, old, ['driverName', 'parameters']),
      returnDeletedObject: true,
    },
  ],
  [
    'storage.k8s.io/csidrivers',
    {
      default: defaultDriver,
      prepareForUpdate: countChanges,
      validate: validateDriver,
      validateUpdate: validateDriverUpdate,
      requireResourceVersion: true,
      returnDeletedObject: true,
    },
  ],
  [
    'storage.k8s.io/csinodes',
    { validate: validateNode, validateUpdate: validateNodeUpdate, requireResourceVersion: true, returnDeletedObject: true },
  ],
  [
    'storage.k8s.io/volumeattachments',
    separateStatus(
      {
        validate: validateAttachment,
        validateCreate: validateNewAttachment,
        validateUpdate: immutableAttachment,
        requireResourceVersion: true,
        returnDeletedObject: true,
        resetFields: { status: [['spec'], ['metadata']] },
        status: { prepareForUpdate: keepMetadata },
      },
      () => ({ attached: false }),
    ),
  ],
  [
    'storage.k8s.io/csistoragecapacities',
    { validate: validateCapacity, validateUpdate: validateCapacityUpdate, requireResourceVersion: true },
  ],
]);
