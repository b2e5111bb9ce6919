import type { Informer, ObjectKey } from '@capstan/client';
import { type Controller, controller, isDeleting } from '@capstan/controller';
import type { ControllerSettings } from '../../registration.ts';
import { releaseUnused, updateVersion } from '../release.ts';
import { claimType, podType } from '../types.ts';
import { type Claim, type Pod, podUses } from '../usage.ts';

const finalizer = 'kubernetes.io/pvc-protection';

/** Watches claims, and the pods that may have used them. */
export function claimProtection({ concurrency = 2 }: Pick<ControllerSettings, 'concurrency'>): Controller<Claim, Informer<Claim>> {
  return controller('pvc-protection')
    .for<Claim>(claimType)
    .reads((informers) => informers.informer<Claim>(claimType))
    .watches(podType, ({ metadata }, claims) => deletingIn(claims.list({ namespace: metadata.namespace! })), {
      metadataOnly: true,
      predicate: ({ type }) => type === 'deleted',
    })
    .reconcile(
      ({ object, client, signal }) =>
        releaseUnused<Claim>(object, finalizer, {
          isUsed: async (claim) => {
            const { items } = await client.resource<Pod>(podType).in(claim.metadata.namespace).list({ signal });
            return items.some((pod) => podUses(pod, claim));
          },
          update: updateVersion(client, claimType, signal),
        }),
      { concurrency },
    );
}

function deletingIn(found: readonly Claim[]): ObjectKey[] {
  return found.filter(isDeleting).map(({ metadata: { namespace, name = '' } }) => ({ namespace: namespace!, name }));
}
