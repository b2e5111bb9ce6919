import { type Fields, fieldError, fieldsOf, isAbsent, textOf } from '@capstan/machinery';
import { type Check, named, plural, quoted, type StricterCheck, setters, sorted, type Violation } from './check.ts';
import { isWindows, type Pod } from './pod.ts';

const podAnnotation = 'seccomp.security.alpha.kubernetes.io/pod';
const containerAnnotation = 'container.seccomp.security.alpha.kubernetes.io/';

/** From before the profile was a field. */
export const seccompOfAnnotations: Check = {
  since: 0,
  until: 19,
  find({ annotations, containers }) {
    const keys = [podAnnotation, ...containers.map(({ name }) => `${containerAnnotation}${name}`)];
    const bad = keys.filter((key) => Object.hasOwn(annotations, key) && !isGoodAnnotation(annotations[key]!));
    const found = sorted(bad.map((key) => `${key}=${fieldError.quote(annotations[key]!)}`));
    if (found.length === 0) return undefined;
    return { reason: 'seccompProfile', detail: `forbidden ${plural('annotation', found)} ${found.join(', ')}` };
  },
};

export const seccompBaseline: Check = { since: 19, find: badProfiles };

/** Requires a profile to be set. Windows pods cannot have one. */
export const seccompRestricted: StricterCheck = {
  since: 19,
  until: 25,
  instead: [seccompBaseline],
  find: (pod) => badProfiles(pod) ?? missingProfiles(pod),
};

export const seccompRestrictedExceptWindows: StricterCheck = {
  since: 25,
  instead: [seccompBaseline],
  find: (pod) => (isWindows(pod) ? undefined : (badProfiles(pod) ?? missingProfiles(pod))),
};

function badProfiles({ security, containers }: Pod): Violation | undefined {
  const isPodBad = hasProfile(security) && !isGood(security);
  const bad = containers.filter((container) => hasProfile(container.security) && !isGood(container.security));
  const subject = setters(
    isPodBad,
    bad.map(({ name }) => name),
  );
  if (subject === '') return undefined;
  const contexts = bad.map((container) => container.security);
  const types = sorted((isPodBad ? [security, ...contexts] : contexts).map(typeOf));
  return { reason: 'seccompProfile', detail: `${subject} must not set securityContext.seccompProfile.type to ${quoted(types)}` };
}

function missingProfiles({ security, containers }: Pod): Violation | undefined {
  if (hasProfile(security)) return undefined;
  const without = containers.filter((container) => !hasProfile(container.security)).map(({ name }) => name);
  if (without.length === 0) return undefined;
  const wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return { reason: 'seccompProfile', detail: `pod or ${named('container', without)} ${wanted}` };
}

function hasProfile(context: Readonly<Fields>): boolean {
  return !isAbsent(context['seccompProfile']);
}

function typeOf(context: Readonly<Fields>): string {
  return textOf(fieldsOf(context['seccompProfile'])['type']);
}

function isGood(context: Readonly<Fields>): boolean {
  const type = typeOf(context);
  return type === 'RuntimeDefault' || type === 'Localhost';
}

function isGoodAnnotation(profile: string): boolean {
  return profile === 'runtime/default' || profile === 'docker/default' || profile.startsWith('localhost/');
}
