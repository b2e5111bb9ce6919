import { type FieldPath, type Fields, fieldError, fieldsOf, isAbsent, itemsOf, maybeFields, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { checkDescendingPath } from '../volumes/volume-paths.ts';

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const longestProfile = 4095;

export function checkSeccomp(found: Findings, at: FieldPath, profile: Fields | undefined): void {
  if (profile === undefined) return;
  const type = textOf(profile['type']);
  const file = profile['localhostProfile'];
  if (type === '') found.required(at.child('type'), 'type is required when seccompProfile is set');
  else if (!profileTypes.includes(type)) found.notSupported(at.child('type'), type, profileTypes);
  const path = at.child('localhostProfile');
  if (type !== 'Localhost') {
    const shown = { Type: type, LocalhostProfile: file };
    if (!isAbsent(file)) found.invalid(path, shown, 'can only be set when seccomp type is Localhost');
  } else if (isAbsent(file)) found.required(path, 'must be set when seccomp type is Localhost');
  else checkDescendingPath(found, path, textOf(file));
}

export function checkAppArmor(found: Findings, at: FieldPath, profile: Fields | undefined): void {
  if (profile === undefined) return;
  const type = textOf(profile['type']);
  const file = profile['localhostProfile'];
  const path = at.child('localhostProfile');
  if (type === '') found.required(at.child('type'), 'type is required when appArmorProfile is set');
  else if (!profileTypes.includes(type)) found.notSupported(at.child('type'), type, profileTypes);
  else if (type !== 'Localhost') {
    if (!isAbsent(file)) found.invalid(path, file, 'can only be set when AppArmor type is Localhost');
  } else if (isAbsent(file) || file === '') found.required(path, 'must be set when AppArmor type is Localhost');
  else {
    const name = textOf(file);
    if (name.trim() !== name) found.invalid(path, name, 'must not be padded with whitespace');
    if (Buffer.byteLength(name) > longestProfile) found.add([fieldError.tooLong(path, longestProfile)]);
  }
}

const appArmorKey = 'container.apparmor.security.beta.kubernetes.io/';
const seccompPodKey = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainerKey = 'container.seccomp.security.alpha.kubernetes.io/';
const mirrorKey = 'kubernetes.io/config.mirror';
const deletionCostKey = 'controller.kubernetes.io/pod-deletion-cost';

function containersOf(spec: Readonly<Fields>): Fields[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) => [...itemsOf(spec[field])]);
}

/** Validates annotations that fields have mostly replaced. */
export function checkPodAnnotations(
  found: Findings,
  at: FieldPath,
  { annotations, spec }: { annotations: Readonly<Record<string, string>>; spec: Readonly<Fields> },
): void {
  const mirrored = annotations[mirrorKey];
  if (mirrored !== undefined && textOf(spec['nodeName']) === '')
    found.invalid(at.key(mirrorKey), mirrored, 'must set spec.nodeName if mirror pod annotation is set');
  const cost = annotations[deletionCostKey];
  if (cost !== undefined && !isCost(cost)) found.invalid(at.key(deletionCostKey), cost, 'must be a 32bit integer');
  const isSeccomp = (key: string): boolean => key === seccompPodKey || key.startsWith(seccompContainerKey);
  for (const [key, profile] of Object.entries(annotations)) if (isSeccomp(key)) checkSeccompName(found, at.child(key), profile);
  const containers = new Set(containersOf(spec).map(({ name }) => name));
  for (const [key, profile] of Object.entries(annotations)) {
    if (!key.startsWith(appArmorKey)) continue;
    const name = key.slice(appArmorKey.length);
    if (!containers.has(name)) found.invalid(at.key(key), name, 'container not found');
    if (!['', 'runtime/default', 'unconfined'].includes(profile) && !profile.startsWith('localhost/'))
      found.invalid(at.key(key), profile, `invalid AppArmor profile name: ${fieldError.quote(profile)}`);
  }
}

/** A canonical integer as in Go: no plus sign, no leading zeros. */
function isCost(text: string): boolean {
  return /^(?:0|-?[1-9][0-9]*)$/.test(text) && Number(text) === (Number(text) | 0);
}

const localPrefix = 'localhost/';

function checkSeccompName(found: Findings, at: FieldPath, profile: string): void {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return;
  if (profile.startsWith(localPrefix)) checkDescendingPath(found, at, profile.slice(localPrefix.length));
  else found.invalid(at, profile, 'must be a valid seccomp profile');
}

/** The AppArmor profile that an annotation's value means; undefined if it is invalid. */
function profileFor(annotation: string): Fields | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const name = annotation.startsWith(localPrefix) ? annotation.slice(localPrefix.length) : '';
  return name === '' || name.trim() !== name ? undefined : { type: 'Localhost', localhostProfile: name };
}

/** Copies AppArmor profiles from legacy annotations to the containers' fields, with a warning. */
export function adoptAppArmor(
  spec: Fields,
  annotations: Readonly<Record<string, string>> | undefined,
  warn: (message: string) => void,
): void {
  if (annotations === undefined || fieldsOf(spec['os'])['name'] === 'windows') return;
  const own = maybeFields(fieldsOf(spec['securityContext'])['appArmorProfile']);
  for (const container of containersOf(spec)) {
    const key = appArmorKey + textOf(container['name']);
    const annotation = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
    if (annotation === undefined || !isAbsent(fieldsOf(container['securityContext'])['appArmorProfile'])) continue;
    const profile = profileFor(annotation);
    const isSame = profile !== undefined && own?.['type'] === profile['type'] && own?.['localhostProfile'] === profile['localhostProfile'];
    if (isSame) continue;
    if (profile !== undefined) container['securityContext'] = { ...fieldsOf(container['securityContext']), appArmorProfile: profile };
    warn(`metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`);
  }
}

/** Rejects Windows options in a Linux pod. */
export function checkLinux(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  const rule = 'windows options cannot be set for a linux pod';
  if (!isAbsent(fieldsOf(spec['securityContext'])['windowsOptions'])) found.forbidden(at.child('securityContext', 'windowsOptions'), rule);
  for (const field of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const [index, container] of itemsOf(spec[field]).entries()) {
      if (!isAbsent(fieldsOf(container['securityContext'])['windowsOptions']))
        found.forbidden(at.child(field).index(index).child('securityContext', 'windowsOptions'), rule);
    }
  }
}
