import { type FieldError, FieldPath, type Fields, fieldsOf, itemsOf, type KubeObject, sameJson, textOf } from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';
import { keepMetadata } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { resizedPart, validateResize } from './pod-resize.ts';
import { validatePod } from './pod-validation.ts';

/** Discards all changes except one part of the spec. */
function changeOnly(pod: KubeObject, old: KubeObject, part: Fields): void {
  pod['spec'] = { ...fieldsOf(old['spec']), ...part };
  pod['status'] = old['status'];
  if (!sameJson(pod['spec'], old['spec'])) pod.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function validateDebuggers(pod: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const at = FieldPath.of('spec', 'ephemeralContainers');
  const now = Map.groupBy(itemsOf(fieldsOf(pod['spec'])['ephemeralContainers']), ({ name }) => name);
  for (const before of itemsOf(fieldsOf(old['spec'])['ephemeralContainers'])) {
    const name = textOf(before['name']);
    const same = now.get(name)?.[0];
    if (same === undefined) found.forbidden(at, `existing ephemeral containers ${JSON.stringify(name)} may not be removed\n`);
    else if (!sameJson(same, before)) found.forbidden(at, `existing ephemeral containers ${JSON.stringify(name)} may not be changed\n`);
  }
  return found.errors;
}

/** `ephemeralcontainers` adds debug containers to a pod, `resize` changes its containers' resources; both leave the rest unchanged. */
export const podParts: NonNullable<Strategy['subresources']> = {
  // The binding handler itself restricts what changes: the node name and the PodScheduled condition.
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
      const part = resizedPart(fieldsOf(pod['spec']), fieldsOf(old['spec']));
      if (part === undefined) return;
      keepMetadata(pod, old);
      changeOnly(pod, old, part);
    },
    validateUpdate: validateResize,
  },
};
