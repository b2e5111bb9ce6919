import { type Controller, controller } from '@capstan/controller';
import type { ControllerSettings } from '../registration.ts';
import { type Lease, reconcileLease } from './reconcile.ts';

const leases = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true, kind: 'Lease' };
/** The leases of API servers. All other leases are left to their holders. */
const identities = { namespace: 'kube-system', labelSelector: 'apiserver.kubernetes.io/identity' };

/** Watches the leases with which API servers announce themselves. */
export function identityLeaseController({ concurrency }: Pick<ControllerSettings, 'concurrency'>): Controller<Lease> {
  return controller('identity-leases')
    .for<Lease>(leases, { ...identities, predicate: ({ type }) => type !== 'deleted' })
    .reconcile(
      ({ object, client, signal }) =>
        reconcileLease(object, {
          // A lease that was renewed meanwhile has another version and stays.
          remove: ({ metadata: { name = '', namespace, resourceVersion = '' } }) =>
            client.resource(leases).in(namespace).delete(name, { preconditions: { resourceVersion }, signal }),
          now: Date.now,
        }),
      { concurrency },
    );
}
