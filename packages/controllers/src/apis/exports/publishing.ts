import type { Client, Informer, ObjectKey, ResourceType } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { type IdentityActions, identityActions, unlessThere } from './identity.ts';

/** What a reconciler does for something that others can bind: it has an identity, and a slice that tells where its view is. */
export interface PublishingActions<T extends KubeObject, S extends KubeObject> extends IdentityActions {
  readonly hasSlice: (name: string) => boolean;
  readonly createSlice: (slice: S) => Promise<void>;
  readonly update: (object: T) => Promise<unknown>;
  readonly updateStatus: (object: T) => Promise<unknown>;
  readonly now: () => Date;
}

/** A reconcile of one object, in its workspace. */
export interface Work {
  readonly key: ObjectKey;
  readonly client: Client;
  readonly signal: AbortSignal;
}

export function publishingActions<T extends KubeObject, S extends KubeObject>(
  { key, client, signal }: Work,
  { type, sliceType, slices }: { readonly type: ResourceType; readonly sliceType: ResourceType; readonly slices: Informer<S> },
): PublishingActions<T, S> {
  const objects = client.resource<T>(type);
  return {
    ...identityActions(client, signal),
    hasSlice: (name) => slices.get({ cluster: key.cluster, name }) !== undefined,
    createSlice: (slice) => unlessThere(client.resource<S>(sliceType).create(slice, { signal })),
    update: (changed) => objects.update(changed, { signal }),
    updateStatus: (changed) => objects.updateStatus(changed, { signal }),
    now: () => new Date(),
  };
}
