import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  numberOf,
  sameJson,
  textOf,
} from '@capstan/machinery';
import { checkNodeSelector } from '../pods/scheduling.ts';
import { applyDefaults, type Defaults, made } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { goForm } from '../shared/go-form.ts';
import { separateStatus } from '../shared/status.ts';
import type { Strategy, StrategyContext } from '../strategy.ts';
import { checkDriverName } from '../volumes/volume-sources.ts';
import { checkAdminAccess, prepareClaimStatus, validateClaimStatus } from './claim-status.ts';
import { checkConfigurations, checkConstraints, checkDeviceParts, checkDeviceTolerations } from './device-parts.ts';
import { checkSelectors } from './device-selectors.ts';

/** Devices for pods: slices that drivers offer, and claims that request devices. */
const mostRequests = 32;
const mostDevices = 128;

const request: Defaults = {
  set: { allocationMode: 'ExactCount' },
  also: (fields) => {
    if (fields['allocationMode'] === 'ExactCount' && numberOf(fields['count']) === 0) fields['count'] = 1;
  },
};

const claimSpec: Defaults = {
  within: { devices: { each: { requests: { within: { exactly: request }, each: { firstAvailable: request } } } } },
};

function checkUniqueNames(found: Findings, at: FieldPath, items: readonly Fields[]): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const name = textOf(item['name']);
    if (seen.has(name)) found.duplicate(at.index(index).child('name'), name);
    seen.add(name);
  }
}

function checkRequest(found: Findings, at: FieldPath, fields: Readonly<Fields>): void {
  const deviceClass = textOf(fields['deviceClassName']);
  if (deviceClass === '') found.required(at.child('deviceClassName'));
  else found.invalid(at.child('deviceClassName'), deviceClass, names.dns1123Subdomain(deviceClass));
  checkSelectors(found, at.child('selectors'), itemsOf(fields['selectors']));
  const mode = textOf(fields['allocationMode']);
  const count = numberOf(fields['count']);
  if (mode === 'All') {
    if (count !== 0) found.invalid(at.child('count'), count, "must not be specified when allocationMode is 'All'");
  } else if (mode === 'ExactCount') {
    if (count <= 0) found.invalid(at.child('count'), count, 'must be greater than zero');
  } else found.notSupported(at.child('allocationMode'), mode, ['All', 'ExactCount']);
  checkDeviceTolerations(found, at.child('tolerations'), itemsOf(fields['tolerations']));
}

function checkRequestName(found: Findings, at: FieldPath, name: string): void {
  found.invalid(at, name, names.dns1123Label(name));
}

function checkClaimSpec(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  const devices = fieldsOf(spec['devices']);
  const requests = itemsOf(devices['requests']);
  const path = at.child('devices', 'requests');
  if (requests.length > mostRequests) found.tooMany(path, requests.length, mostRequests);
  for (const [index, entry] of requests.entries()) {
    const requestPath = path.index(index);
    checkRequestName(found, requestPath.child('name'), textOf(entry['name']));
    const choices = itemsOf(entry['firstAvailable']);
    for (const [position, choice] of choices.entries()) {
      const choicePath = requestPath.child('firstAvailable').index(position);
      checkRequestName(found, choicePath.child('name'), textOf(choice['name']));
      checkRequest(found, choicePath, choice);
    }
    checkUniqueNames(found, requestPath.child('firstAvailable'), choices);
    const exactly = maybeFields(entry['exactly']);
    if (exactly !== undefined) checkRequest(found, requestPath.child('exactly'), exactly);
    const rule = 'exactly one of `exactly` or `firstAvailable` is required';
    if (exactly === undefined && choices.length === 0) found.required(requestPath, rule);
    if (exactly !== undefined && choices.length > 0) found.invalid(requestPath, null, `${rule}, but multiple fields are set`);
  }
  checkUniqueNames(found, path, requests);
  checkConstraints(found, at.child('devices'), devices);
}

const nodeChoices = ['nodeName', 'nodeSelector', 'allNodes', 'perDeviceNodeSelection'];
const oneNodeChoice = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';

function validateSlice(slice: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(slice['spec']);
  const at = FieldPath.of('spec');
  const driver = textOf(spec['driver']);
  checkDriverName(found, at.child('driver'), driver);
  const pool = fieldsOf(spec['pool']);
  if (textOf(pool['name']) === '') found.required(at.child('pool', 'name'));
  if (numberOf(pool['resourceSliceCount']) <= 0) {
    found.invalid(at.child('pool', 'resourceSliceCount'), numberOf(pool['resourceSliceCount']), 'must be greater than zero');
  }
  if (numberOf(pool['generation']) < 0)
    found.invalid(at.child('pool', 'generation'), pool['generation'], 'must be greater than or equal to zero');
  const chosen = nodeChoices.filter((field) => !isAbsent(spec[field]) && spec[field] !== '');
  if (spec['nodeName'] === '') found.invalid(at.child('nodeName'), '', 'must be either unset or set to a non-empty string');
  if (chosen.length === 0) found.required(at, oneNodeChoice);
  else if (chosen.length > 1) {
    found.invalid(at, `{${chosen.map((field) => `\`${field}\``).join(', ')}}`, `${oneNodeChoice}, but multiple fields are set`);
  }
  const node = textOf(spec['nodeName']);
  if (node !== '') found.invalid(at.child('nodeName'), node, names.dns1123Subdomain(node));
  const selector = maybeFields(spec['nodeSelector']);
  if (selector !== undefined) checkNodeSelector(found, at.child('nodeSelector'), selector);
  const devices = itemsOf(spec['devices']);
  if (devices.length > mostDevices) found.tooMany(at.child('devices'), devices.length, mostDevices);
  for (const [index, device] of devices.entries())
    checkRequestName(found, at.child('devices').index(index).child('name'), textOf(device['name']));
  checkUniqueNames(found, at.child('devices'), devices);
  for (const [index, device] of devices.entries()) checkDeviceParts(found, at.child('devices').index(index), device);
  return found.errors;
}

function validateSliceUpdate(slice: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [spec, before] = [fieldsOf(slice['spec']), fieldsOf(old['spec'])];
  const [name, oldName] = [fieldsOf(spec['pool'])['name'], fieldsOf(before['pool'])['name']];
  found.immutable(FieldPath.of('spec', 'pool', 'name'), name, name === oldName);
  for (const field of ['driver', 'nodeName']) found.immutable(FieldPath.of('spec', field), spec[field], spec[field] === before[field]);
  return found.errors;
}

function immutableSpec(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const type = object.kind === 'ResourceClaim' ? 'ResourceClaimSpec' : 'ResourceClaimTemplateSpec';
  found.immutable(FieldPath.of('spec'), goForm(type, fieldsOf(object['spec'])), sameJson(object['spec'], old['spec']));
  return found.errors;
}

function validateClaim(claim: KubeObject): FieldError[] {
  const found = new Findings();
  checkClaimSpec(found, FieldPath.of('spec'), fieldsOf(claim['spec']));
  return found.errors;
}

function checkAdministration(claim: KubeObject, context: StrategyContext): FieldError[] {
  const found = new Findings();
  const requests = itemsOf(fieldsOf(fieldsOf(claim['spec'])['devices'])['requests']);
  const asked = requests.findIndex(({ exactly }) => fieldsOf(exactly)['adminAccess'] === true);
  if (asked !== -1)
    checkAdminAccess(found, FieldPath.of('spec', 'devices', 'requests').index(asked).child('adminAccess'), { claim, context });
  return found.errors;
}

export const deviceStrategies = new Map<string, Strategy>([
  [
    'resource.k8s.io/deviceclasses',
    {
      validate: (object) => {
        const found = new Findings();
        const spec = fieldsOf(object['spec']);
        checkSelectors(found, FieldPath.of('spec', 'selectors'), itemsOf(spec['selectors']));
        checkConfigurations(found, FieldPath.of('spec', 'config'), itemsOf(spec['config']));
        return found.errors;
      },
      generation: true,
      returnDeletedObject: true,
    },
  ],
  [
    'resource.k8s.io/resourceclaims',
    separateStatus({
      default: (claim) => applyDefaults(made(claim, 'spec'), claimSpec),
      validate: validateClaim,
      validateCreate: checkAdministration,
      validateUpdate: immutableSpec,
      returnDeletedObject: true,
      status: { prepareForUpdate: prepareClaimStatus, validateUpdate: validateClaimStatus },
    }),
  ],
  [
    'resource.k8s.io/resourceclaimtemplates',
    {
      default: (template) => applyDefaults(made(template, 'spec'), { set: { metadata: {} }, within: { spec: claimSpec } }),
      validate: (template) => {
        const found = new Findings();
        checkClaimSpec(found, FieldPath.of('spec', 'spec'), fieldsOf(fieldsOf(template['spec'])['spec']));
        return found.errors;
      },
      validateUpdate: immutableSpec,
      returnDeletedObject: true,
    },
  ],
  [
    'resource.k8s.io/resourceslices',
    {
      validate: validateSlice,
      validateUpdate: validateSliceUpdate,
      generation: true,
      returnDeletedObject: true,
      selectableLabels: ['spec.nodeName', 'spec.driver'],
      selectableFields: (slice) => {
        const spec = fieldsOf(slice['spec']);
        return { 'spec.nodeName': textOf(spec['nodeName']), 'spec.driver': textOf(spec['driver']) };
      },
    },
  ],
]);
