import type { Client, ObjectKey } from '@capstan/client';
import {
  type Controller,
  controller,
  done,
  hasFinalizer,
  isDeleting,
  type Result,
  type Runnable,
  requeueAfter,
  whenOutdated,
} from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { informed } from '../informed.ts';
import type { ControllerSettings } from '../registration.ts';
import { type Claim, classesOfClaim, classesOfVolume, type Pod, podUses, type Volume } from './usage.ts';

const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true };
const claims = { group: '', version: 'v1', resource: 'persistentvolumeclaims', namespaced: true, kind: 'PersistentVolumeClaim' };
const volumes = { group: '', version: 'v1', resource: 'persistentvolumes', namespaced: false, kind: 'PersistentVolume' };
const classes = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'volumeattributesclasses',
  namespaced: false,
  kind: 'VolumeAttributesClass',
};

type Settings = Pick<ControllerSettings, 'concurrency'>;

/** Who stops to use something is not always seen: what is still used is looked at again. */
const again = 30_000;

interface Protected<T extends KubeObject> {
  readonly object: T | undefined;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly type: typeof claims;
  readonly finalizer: string;
  readonly isUsed: (object: T) => boolean | Promise<boolean>;
}

/** Lets go of what is being deleted and nobody uses. */
async function letGo<T extends KubeObject>({ object, client, signal, type, finalizer, isUsed }: Protected<T>): Promise<Result> {
  if (object === undefined || !isDeleting(object) || !hasFinalizer(object, finalizer)) return done;
  if (await isUsed(object)) return requeueAfter(again);
  const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  try {
    // Of this version alone: somebody may have begun to use it.
    await client
      .resource(type)
      .in(object.metadata.namespace)
      .update({ ...object, metadata: { ...object.metadata, finalizers } }, { signal });
    return done;
  } catch (error) {
    return whenOutdated(error);
  }
}

export function claimProtection({ concurrency = 2 }: Settings): Runnable {
  return informed((informers) =>
    controller('pvc-protection')
      .for<Claim>(claims)
      .watches(pods, ({ metadata }) => leavingIn(informers().informer<Claim>(claims).list({ namespace: metadata.namespace! })), {
        metadataOnly: true,
        predicate: ({ type }) => type === 'deleted',
      })
      .reconcile(
        ({ object, client, signal }) =>
          letGo<Claim>({
            object,
            client,
            signal,
            type: claims,
            finalizer: 'kubernetes.io/pvc-protection',
            isUsed: async (claim) => {
              const { items } = await client.resource<Pod>(pods).in(claim.metadata.namespace).list({ signal });
              return items.some((pod) => podUses(pod, claim));
            },
          }),
        { concurrency },
      ),
  );
}

function leavingIn(found: readonly Claim[]): ObjectKey[] {
  return found.filter(isDeleting).map(({ metadata: { namespace, name = '' } }) => ({ namespace: namespace!, name }));
}

export function volumeProtection({ concurrency = 1 }: Settings): Controller<Volume> {
  return controller('pv-protection')
    .for<Volume>(volumes)
    .reconcile(
      ({ object, client, signal }) =>
        letGo<Volume>({
          object,
          client,
          signal,
          type: volumes,
          finalizer: 'kubernetes.io/pv-protection',
          isUsed: ({ status }) => status?.phase === 'Bound',
        }),
      { concurrency },
    );
}

export function volumeClassProtection({ concurrency = 1 }: Settings): Controller<KubeObject> {
  const named = (names: readonly string[]): ObjectKey[] => names.map((name) => ({ name }));
  return controller('vac-protection')
    .for<KubeObject>(classes)
    .watches<Claim>(claims, (claim) => named(classesOfClaim(claim)))
    .watches<Volume>(volumes, (volume) => named(classesOfVolume(volume)))
    .reconcile(
      ({ object, client, signal }) =>
        letGo<KubeObject>({
          object,
          client,
          signal,
          type: classes,
          finalizer: 'kubernetes.io/vac-protection',
          isUsed: async ({ metadata: { name = '' } }) => {
            const using = await client.resource<Claim>(claims).list({ signal });
            if (using.items.some((claim) => classesOfClaim(claim).includes(name))) return true;
            const having = await client.resource<Volume>(volumes).list({ signal });
            return having.items.some((volume) => classesOfVolume(volume).includes(name));
          },
        }),
      { concurrency },
    );
}
