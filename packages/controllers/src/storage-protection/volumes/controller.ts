import { type Controller, controller } from '@capstan/controller';
import type { ControllerSettings } from '../../registration.ts';
import { releaseUnused, updateVersion } from '../release.ts';
import { volumeType } from '../types.ts';
import type { Volume } from '../usage.ts';

const finalizer = 'kubernetes.io/pv-protection';

/** Watches volumes. */
export function volumeProtection({ concurrency }: Pick<ControllerSettings, 'concurrency'>): Controller<Volume> {
  return controller('pv-protection')
    .for<Volume>(volumeType)
    .reconcile(
      ({ object, client, signal }) =>
        releaseUnused<Volume>(object, finalizer, {
          isUsed: ({ status }) => status?.phase === 'Bound',
          update: updateVersion(client, volumeType, signal),
        }),
      { concurrency },
    );
}
