import { isConflict, isNotFound } from '@capstan/client';
import { type Controller, controller, done, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { ControllerSettings } from '../registration.ts';

const leases = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true, kind: 'Lease' };
/** Where API servers say that they are there. Leases of others are left alone: who holds them decides. */
const identities = { namespace: 'kube-system', labelSelector: 'apiserver.kubernetes.io/identity' };

interface Lease extends KubeObject {
  readonly spec?: { readonly renewTime?: string; readonly leaseDurationSeconds?: number };
}

/** Deletes the leases of API servers that are gone. */
export function identityLeaseController({ concurrency }: Pick<ControllerSettings, 'concurrency'>): Controller<Lease> {
  return controller('identity-leases')
    .for<Lease>(leases, { ...identities, predicate: ({ type }) => type !== 'deleted' })
    .reconcile(
      async ({ object, client, signal }): Promise<Result> => {
        if (object === undefined) return done;
        const left = timeLeft(object, Date.now());
        if (left > 0) return requeueAfter(left);
        const { name = '', namespace, resourceVersion = '' } = object.metadata;
        try {
          // Renewed meanwhile, it has another version and stays.
          await client.resource(leases).in(namespace).delete(name, { preconditions: { resourceVersion }, signal });
        } catch (error) {
          if (!isNotFound(error) && !isConflict(error)) throw error;
        }
        return done;
      },
      { concurrency: concurrency ?? 1 },
    );
}

/** In milliseconds, until nobody has renewed it in its time. One that does not say how long it holds has ended. */
export function timeLeft({ spec }: Lease, now: number): number {
  if (spec?.renewTime === undefined || spec.leaseDurationSeconds === undefined) return 0;
  return Math.max(0, Date.parse(spec.renewTime) + spec.leaseDurationSeconds * 1000 - now);
}
