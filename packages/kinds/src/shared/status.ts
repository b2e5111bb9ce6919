import type { KubeObject } from '@capstan/machinery';
import type { Strategy } from '../strategy.ts';

function keepStatus(object: KubeObject, old: KubeObject): void {
  if (old['status'] === undefined) delete object['status'];
  else object['status'] = old['status'];
}

const notOfStatus = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** The status subresource can only change status and metadata. */
export function keepAllButStatus(object: KubeObject, old: KubeObject): void {
  for (const field of Object.keys(object)) if (!notOfStatus.has(field)) delete object[field];
  for (const field of Object.keys(old)) if (!notOfStatus.has(field)) object[field] = old[field];
}

const ownedElsewhere = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** The status subresource of newer kinds cannot change metadata either. */
export function keepMetadata({ metadata }: KubeObject, old: KubeObject): void {
  for (const field of ownedElsewhere) {
    if (old.metadata[field] === undefined) delete metadata[field];
    else Object.assign(metadata, { [field]: old.metadata[field] });
  }
}

/** For kinds with a status subresource: clients can only write the status through it, and new objects start with the initial status. */
export function separateStatus(strategy: Strategy, initial: (object: KubeObject) => object = () => ({})): Strategy {
  return {
    ...strategy,
    prepareForCreate: (object, context) => {
      object['status'] = initial(object);
      strategy.prepareForCreate?.(object, context);
    },
    prepareForUpdate: (object, old, context) => {
      keepStatus(object, old);
      strategy.prepareForUpdate?.(object, old, context);
    },
    status: {
      ...strategy.status,
      prepareForUpdate: (object, old, context) => {
        keepAllButStatus(object, old);
        strategy.status?.prepareForUpdate?.(object, old, context);
      },
    },
  };
}
