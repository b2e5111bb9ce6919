import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  jsonKey,
  type KubeObject,
  names,
  numberOf,
  sameJson,
  textOf,
} from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';
import { goPodSpec } from '../shared/go-form.ts';
import { changesBetween } from '../shared/unified-diff.ts';

const at = FieldPath.of('spec');

const changeable =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Returns false if the lists differ in length; then nothing else is compared. */
function checkContainerLists(found: Findings, spec: Readonly<Fields>, before: Readonly<Fields>): boolean {
  for (const field of ['containers', 'initContainers']) {
    if (itemsOf(spec[field]).length !== itemsOf(before[field]).length) {
      found.forbidden(at.child(field), 'pod updates may not add or remove containers');
      return false;
    }
    for (const [index, container] of itemsOf(spec[field]).entries()) {
      if (textOf(container['image']).trim() === '') found.required(at.child(field).index(index).child('image'));
    }
  }
  return true;
}

function checkDeadline(found: Findings, spec: Readonly<Fields>, before: Readonly<Fields>): void {
  const path = at.child('activeDeadlineSeconds');
  const [deadline, old] = [spec['activeDeadlineSeconds'], before['activeDeadlineSeconds']];
  if (!isAbsent(deadline) && numberOf(deadline) < 0) {
    found.invalid(path, deadline, names.rangeMessage(0, 2 ** 31 - 1));
    return;
  }
  if (isAbsent(old)) return;
  if (isAbsent(deadline)) found.invalid(path, null, 'must not update from a positive integer to nil value');
  else if (numberOf(old) < numberOf(deadline)) found.invalid(path, deadline, 'must be less than or equal to previous value');
}

function checkAdditions(found: Findings, spec: Readonly<Fields>, before: Readonly<Fields>): void {
  const keyOf = (toleration: Fields): string => jsonKey(without(toleration, 'tolerationSeconds'));
  const tolerations = new Set(itemsOf(spec['tolerations']).map(keyOf));
  if (!itemsOf(before['tolerations']).every((old) => tolerations.has(keyOf(old))))
    found.forbidden(at.child('tolerations'), 'existing toleration can not be modified except its tolerationSeconds');
  const gates = new Set(itemsOf(before['schedulingGates']).map((gate) => gate['name']));
  for (const [index, { name }] of itemsOf(spec['schedulingGates']).entries()) {
    if (gates.has(name)) continue;
    const why = `only deletion is allowed, but found new scheduling gate '${textOf(name)}'`;
    found.forbidden(at.child('schedulingGates').index(index).child('name'), why);
  }
}

function without(fields: Readonly<Fields>, ...left: string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !left.includes(name)));
}

function withoutImages(containers: unknown): Fields[] {
  return itemsOf(containers).map((container) => without(container, 'image'));
}

/** The immutable part of the spec. Node constraints may change while the pod has scheduling gates. */
function fixedPart(spec: Readonly<Fields>, isGated: boolean): Fields {
  const fixed = without(spec, 'activeDeadlineSeconds', 'tolerations', 'schedulingGates', ...(isGated ? ['nodeSelector'] : []));
  fixed['containers'] = withoutImages(spec['containers']);
  fixed['initContainers'] = withoutImages(spec['initContainers']);
  if (isGated) fixed['affinity'] = without(fieldsOf(spec['affinity']), 'nodeAffinity');
  return fixed;
}

/** The updated spec without the permitted changes. */
function withOldParts(spec: Readonly<Fields>, before: Readonly<Fields>): Fields {
  const kept: Fields = { ...spec };
  for (const field of ['containers', 'initContainers']) {
    const old = itemsOf(before[field]);
    if (!isAbsent(spec[field]))
      kept[field] = itemsOf(spec[field]).map((container, index) => ({ ...container, image: old[index]?.['image'] }));
  }
  for (const field of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) kept[field] = before[field];
  return kept;
}

const appArmor = 'container.apparmor.security.beta.kubernetes.io/';
const mirror = 'kubernetes.io/config.mirror';

/** The AppArmor and mirror pod annotations are immutable. */
function checkAnnotations(found: Findings, { metadata }: KubeObject, old: KubeObject): void {
  const [given, before] = [metadata.annotations ?? {}, old.metadata.annotations ?? {}];
  for (const key of new Set([...Object.keys(before), ...Object.keys(given)])) {
    if (!key.startsWith(appArmor) && key !== mirror) continue;
    const had = Object.hasOwn(before, key);
    if (had && Object.hasOwn(given, key) && given[key] === before[key]) continue;
    const what = key === mirror ? 'mirror pod annotation' : 'AppArmor annotations';
    found.forbidden(FieldPath.of('metadata', 'annotations').key(key), `may not ${had ? 'remove or update' : 'add'} ${what}`);
  }
}

export function validatePodUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  checkAnnotations(found, pod, old);
  const [spec, before] = [fieldsOf(pod['spec']), fieldsOf(old['spec'])];
  if (!checkContainerLists(found, spec, before)) return found.errors;
  checkDeadline(found, spec, before);
  checkAdditions(found, spec, before);
  const isGated = itemsOf(before['schedulingGates']).length > 0;
  const [now, then] = [fixedPart(spec, isGated), fixedPart(before, isGated)];
  if (numberOf(then['terminationGracePeriodSeconds']) < 0 && now['terminationGracePeriodSeconds'] === 1) {
    now['terminationGracePeriodSeconds'] = then['terminationGracePeriodSeconds'];
  }
  if (!sameJson(now, then)) {
    const changes = changesBetween(goPodSpec(before), goPodSpec(withOldParts(spec, before)));
    found.forbidden(at, `pod updates may not change fields other than ${changeable}\n${changes}`);
  }
  return found.errors;
}
