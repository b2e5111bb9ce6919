import type { ObjectKey } from '@capstan/client';
import { type Controller, controller } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { ControllerSettings } from '../../registration.ts';
import { releaseUnused, updateVersion } from '../release.ts';
import { claimType, volumeClassType, volumeType } from '../types.ts';
import { type Claim, classesOfClaim, classesOfVolume, type Volume } from '../usage.ts';

const finalizer = 'kubernetes.io/vac-protection';

/** Watches classes of volume attributes, and the claims and volumes that use them. */
export function volumeClassProtection({ concurrency }: Pick<ControllerSettings, 'concurrency'>): Controller {
  const named = (names: readonly string[]): ObjectKey[] => names.map((name) => ({ name }));
  return controller('vac-protection')
    .for<KubeObject>(volumeClassType)
    .watches<Claim>(claimType, (claim) => named(classesOfClaim(claim)))
    .watches<Volume>(volumeType, (volume) => named(classesOfVolume(volume)))
    .reconcile(
      ({ object, client, signal }) =>
        releaseUnused(object, finalizer, {
          isUsed: async ({ metadata: { name = '' } }) => {
            const claims = await client.resource<Claim>(claimType).list({ signal });
            if (claims.items.some((claim) => classesOfClaim(claim).includes(name))) return true;
            const volumes = await client.resource<Volume>(volumeType).list({ signal });
            return volumes.items.some((volume) => classesOfVolume(volume).includes(name));
          },
          update: updateVersion(client, volumeClassType, signal),
        }),
      { concurrency },
    );
}
