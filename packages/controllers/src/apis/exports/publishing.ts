import { type Client, type Informer, isAlreadyExists, type ObjectKey, type ResourceType } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { type IdentityActions, identityActions } from './identity.ts';

/** The actions for an object that others can bind to: it has an identity, and a slice with the URL of its view. */
export interface PublishingActions<T extends KubeObject, S extends KubeObject> extends IdentityActions {
  readonly hasSlice: (name: string) => boolean;
  /** Does nothing if it exists. */
  readonly createSlice: (slice: S) => Promise<unknown>;
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
    createSlice: (slice) => ignoring(client.resource<S>(sliceType).create(slice, { signal }), isAlreadyExists),
    update: (changed) => objects.update(changed, { signal }),
    updateStatus: (changed) => objects.updateStatus(changed, { signal }),
    now: () => new Date(),
  };
}
