import { isIPv4 } from 'node:net';
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
  textOf,
} from '@capstan/machinery';
import { addressProblems } from '../services/addresses.ts';
import { Findings } from '../shared/findings.ts';
import type { Strategy } from '../strategy.ts';

const at = FieldPath.of('status');
const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized']);

/** Status updates by kubelets. They may omit fields that were set before, and cannot change the rest of the pod. */
export const podStatus: Strategy['status'] & object = {
  prepareForUpdate: (pod, old) => {
    if (old.metadata.ownerReferences === undefined) delete pod.metadata.ownerReferences;
    else pod.metadata.ownerReferences = old.metadata.ownerReferences;
    if (old.metadata.deletionTimestamp === undefined) delete pod.metadata.deletionTimestamp;
    else pod.metadata.deletionTimestamp = old.metadata.deletionTimestamp;
    const before = fieldsOf(old['status']);
    const status = { ...fieldsOf(pod['status']) };
    pod['status'] = status;
    if (textOf(status['qosClass']) === '' && before['qosClass'] !== undefined) status['qosClass'] = before['qosClass'];
    keepGenerations(status, before);
  },
  validateUpdate: validatePodStatus,
};

/** Keeps observed generations that older kubelets do not report. Conditions of the same type are matched in order. */
function keepGenerations(status: Fields, before: Readonly<Fields>): void {
  if (numberOf(status['observedGeneration']) === 0 && before['observedGeneration'] !== undefined)
    status['observedGeneration'] = before['observedGeneration'];
  if (!Array.isArray(status['conditions'])) return;
  const ofType = Map.groupBy(itemsOf(before['conditions']), ({ type }) => type);
  const left = new Map(Array.from(ofType, ([type, conditions]) => [type, conditions.values()]));
  status['conditions'] = itemsOf(status['conditions']).map((condition) => {
    const same = left.get(condition['type'])?.next().value;
    if (numberOf(condition['observedGeneration']) !== 0 || same?.['observedGeneration'] === undefined) return condition;
    return { ...condition, observedGeneration: same['observedGeneration'] };
  });
}

function validatePodStatus(pod: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [status, before] = [fieldsOf(pod['status']), fieldsOf(old['status'])];
  const spec = fieldsOf(old['spec']);
  checkConditions(found, itemsOf(status['conditions']));
  const nominated = textOf(status['nominatedNodeName']);
  if (nominated !== '' && nominated !== textOf(before['nominatedNodeName'])) {
    found.invalid(at.child('nominatedNodeName'), nominated, names.dns1123Subdomain(nominated));
    if (textOf(spec['nodeName']) !== '')
      found.forbidden(at.child('nominatedNodeName'), 'may not be set on pods that are already bound to a node');
  }
  checkGeneration(found, at, status);
  const quality = textOf(status['qosClass']);
  found.immutable(at.child('qosClass'), quality, quality === textOf(before['qosClass']));
  const restarted = new Set(
    itemsOf(spec['initContainers']).flatMap(({ name, restartPolicy }) => (restartPolicy === 'Always' ? [name] : [])),
  );
  checkEnded(found, 'containerStatuses', { status, before, mayGoOn: (ended) => isRestarted(spec, ended) });
  checkEnded(found, 'initContainerStatuses', {
    status,
    before,
    mayGoOn: (ended) => isRestarted(spec, ended) || restarted.has(ended['name']),
  });
  checkEnded(found, 'ephemeralContainerStatuses', { status, before, mayGoOn: () => false });
  checkClaims(found, itemsOf(status['resourceClaimStatuses']), itemsOf(spec['resourceClaims']));
  checkAddresses(found, 'podIPs', status, before);
  if (itemsOf(status['hostIPs']).length > 0) {
    const first = textOf(itemsOf(status['hostIPs'])[0]!['ip']);
    if (first !== textOf(status['hostIP'])) found.invalid(at.child('hostIPs').index(0).child('ip'), first, 'must be equal to `hostIP`');
    checkAddresses(found, 'hostIPs', status, before);
  }
  return found.errors;
}

function checkGeneration(found: Findings, path: FieldPath, { observedGeneration }: Readonly<Fields>): void {
  if (numberOf(observedGeneration) < 0)
    found.invalid(path.child('observedGeneration'), observedGeneration, 'must be a non-negative integer');
}

function checkConditions(found: Findings, conditions: readonly Fields[]): void {
  for (const [index, condition] of conditions.entries()) {
    const path = at.child('conditions').index(index);
    checkGeneration(found, path, condition);
    const type = textOf(condition['type']);
    if (!systemConditions.has(type)) found.invalid(path.child('Type'), type, names.qualifiedName(type));
  }
}

function endedOf(container: Fields): Fields | undefined {
  return maybeFields(fieldsOf(container['state'])['terminated']);
}

function isRestarted(spec: Readonly<Fields>, container: Fields): boolean {
  if (spec['restartPolicy'] === 'Always') return true;
  return spec['restartPolicy'] === 'OnFailure' && numberOf(endedOf(container)!['exitCode']) !== 0;
}

interface Ending {
  readonly status: Readonly<Fields>;
  readonly before: Readonly<Fields>;
  readonly mayGoOn: (container: Fields) => boolean;
}

/** A terminated container may not run again unless the pod restarts it. */
function checkEnded(found: Findings, field: string, { status, before, mayGoOn }: Ending): void {
  const running = new Set(itemsOf(status[field]).flatMap((container) => (endedOf(container) === undefined ? [container['name']] : [])));
  for (const [index, old] of itemsOf(before[field]).entries()) {
    if (endedOf(old) === undefined || mayGoOn(old) || !running.has(old['name'])) continue;
    found.forbidden(at.child(field).index(index).child('state'), 'may not be transitioned to non-terminated state');
  }
}

function checkClaims(found: Findings, statuses: readonly Fields[], claims: readonly Fields[]): void {
  const seen = new Set<string>();
  const known = new Set(claims.map((claim) => claim['name']));
  for (const [index, status] of statuses.entries()) {
    const path = at.child('resourceClaimStatuses').index(index).child('name');
    const name = textOf(status['name']);
    if (!known.has(name)) found.invalid(path, name, 'must match the name of an entry in `spec.resourceClaims`');
    if (seen.has(name)) found.duplicate(path, name);
    seen.add(name);
    const claim = status['resourceClaimName'];
    if (!isAbsent(claim)) found.invalid(path, claim, names.dns1123Subdomain(textOf(claim)));
  }
}

/** Allows one address of each family. Addresses that were there before are not validated again. */
function checkAddresses(found: Findings, field: string, status: Readonly<Fields>, before: Readonly<Fields>): void {
  const given = itemsOf(status[field]);
  const known = new Set(itemsOf(before[field]).map(({ ip }) => textOf(ip)));
  const addresses = given.map(({ ip }) => textOf(ip));
  for (const [index, address] of addresses.entries())
    if (!known.has(address)) found.invalid(at.child(field).index(index), address, addressProblems(address));
  if (addresses.length < 2) return;
  const isPair = addresses.length === 2 && isIPv4(addresses[0]!) !== isIPv4(addresses[1]!);
  if (!isPair)
    found.invalid(
      at.child(field),
      given.map(({ ip }) => ({ IP: textOf(ip) })),
      'may specify no more than one IP for each IP family',
    );
}
