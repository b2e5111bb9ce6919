import { isDeepStrictEqual } from 'node:util';
import { type FieldError, FieldPath, type KubeObject } from '@capstan/machinery';
import type { Strategy } from '../strategy.ts';
import { Findings } from './findings.ts';
import { validatePod } from './pod-validation.ts';
import { qualityOf } from './quality.ts';
import { type Fields, fieldsOf, itemsOf, textOf } from './reading.ts';

/** Keeps the pod as it was but for one part of its spec. */
function changeOnly(pod: KubeObject, old: KubeObject, part: Fields): void {
  pod['spec'] = { ...fieldsOf(old['spec']), ...part };
  pod['status'] = old['status'];
  if (!isDeepStrictEqual(pod['spec'], old['spec'])) pod.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function validateDebuggers(pod: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const at = FieldPath.of('spec', 'ephemeralContainers');
  const now = itemsOf(fieldsOf(pod['spec'])['ephemeralContainers']);
  for (const before of itemsOf(fieldsOf(old['spec'])['ephemeralContainers'])) {
    const name = textOf(before['name']);
    const same = now.find((container) => container['name'] === name);
    if (same === undefined) found.forbidden(at, `existing ephemeral containers ${JSON.stringify(name)} may not be removed\n`);
    else if (!isDeepStrictEqual(same, before))
      found.forbidden(at, `existing ephemeral containers ${JSON.stringify(name)} may not be changed\n`);
  }
  return found.errors;
}

/** Containers as they were, with the resources of the new ones. */
function resized(containers: unknown, old: unknown): Fields[] {
  return itemsOf(old).map((before) => {
    const now = itemsOf(containers).find((container) => container['name'] === before['name']);
    return now === undefined ? before : { ...before, resources: fieldsOf(now['resources']) };
  });
}

/** Through `ephemeralcontainers` debuggers join a pod, through `resize` its containers get other amounts; nothing else changes. */
export const podParts: NonNullable<Strategy['subresources']> = {
  // Binding decides itself what it changes: the node, and that the pod is scheduled.
  binding: { prepareForUpdate: () => {} },
  ephemeralcontainers: {
    prepareForUpdate: (pod, old) => {
      const { ephemeralContainers } = fieldsOf(pod['spec']);
      changeOnly(pod, old, ephemeralContainers === undefined ? {} : { ephemeralContainers });
    },
    validate: validatePod,
    validateUpdate: validateDebuggers,
  },
  resize: {
    prepareForUpdate: (pod, old) => {
      const [spec, before] = [fieldsOf(pod['spec']), fieldsOf(old['spec'])];
      const part: Fields = { containers: resized(spec['containers'], before['containers']) };
      if (before['initContainers'] !== undefined) part['initContainers'] = resized(spec['initContainers'], before['initContainers']);
      changeOnly(pod, old, part);
    },
    validate: validatePod,
    validateUpdate: (pod, old) => {
      const found = new Findings();
      const [quality, before] = [qualityOf(fieldsOf(pod['spec'])), qualityOf(fieldsOf(old['spec']))];
      if (quality !== before) found.invalid(FieldPath.of('spec'), before, 'Pod QOS Class may not change as a result of resizing');
      return found.errors;
    },
  },
};
