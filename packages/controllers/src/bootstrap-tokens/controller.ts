import { type Controller, controller } from '@capstan/controller';
import type { ControllerSettings } from '../registration.ts';
import { type BootstrapToken, reconcileToken } from './reconcile.ts';

const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true, kind: 'Secret' };
const tokens = { namespace: 'kube-system', fieldSelector: 'type=bootstrap.kubernetes.io/token' };

/** Watches bootstrap tokens, and deletes those that have expired. */
export function bootstrapTokenController({ concurrency }: Pick<ControllerSettings, 'concurrency'>): Controller<BootstrapToken> {
  return controller('bootstrap-tokens')
    .for<BootstrapToken>(secrets, { ...tokens, predicate: ({ type }) => type !== 'deleted' })
    .reconcile(
      ({ object, client, signal }) =>
        reconcileToken(object, {
          // A token whose life was extended meanwhile has another version and stays.
          remove: ({ metadata: { name = '', namespace, resourceVersion = '' } }) =>
            client.resource(secrets).in(namespace).delete(name, { preconditions: { resourceVersion }, signal }),
          now: Date.now,
        }),
      { concurrency },
    );
}
