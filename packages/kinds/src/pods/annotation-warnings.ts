import type { FieldPath } from '@capstan/machinery';
import { type Fields, fieldsOf, isAbsent, itemsOf, textOf } from '@capstan/machinery';

const oldAnnotations = new Map([
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
]);

const podSeccomp = 'seccomp.security.alpha.kubernetes.io/pod';
const containerSeccomp = 'container.seccomp.security.alpha.kubernetes.io/';
const seccompMessage = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/** Warnings for annotations that fields have replaced and that no longer have any effect. */
export function oldAnnotationsOf(template: Readonly<Fields>, at: FieldPath): string[] {
  const annotations = fieldsOf(fieldsOf(template['metadata'])['annotations']);
  return [...oldAnnotations]
    .filter(([key]) => Object.hasOwn(annotations, key))
    .map(([key, message]) => `${at.key(key).toString()}: ${message}`);
}

/** Warnings for seccomp profiles that are set only in annotations. */
export function oldSeccompOf(template: Readonly<Fields>, at: FieldPath): string[] {
  const annotations = fieldsOf(fieldsOf(template['metadata'])['annotations']);
  const spec = fieldsOf(template['spec']);
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) => itemsOf(spec[field]));
  const keys = [
    ...(hasProfile(spec) ? [] : [podSeccomp]),
    ...containers.filter((container) => !hasProfile(container)).map(({ name }) => `${containerSeccomp}${textOf(name)}`),
  ];
  return keys.filter((key) => Object.hasOwn(annotations, key)).map((key) => `${at.key(key).toString()}: ${seccompMessage}`);
}

function hasProfile(owner: Readonly<Fields>): boolean {
  return !isAbsent(fieldsOf(owner['securityContext'])['seccompProfile']);
}
