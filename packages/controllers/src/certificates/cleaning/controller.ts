import { type Controller, controller } from '@capstan/controller';
import { requestType, type SigningRequest } from '../request.ts';
import { reconcileAge } from './reconcile.ts';

/** Watches certificate requests, and deletes old ones. */
export function csrCleaning(): Controller<SigningRequest> {
  return controller('csr-cleaning')
    .for<SigningRequest>(requestType, { predicate: ({ type }) => type !== 'deleted' })
    .reconcile(
      ({ object, client, signal }) =>
        reconcileAge(object, {
          remove: ({ metadata: { name = '', uid = '' } }) => client.resource(requestType).delete(name, { preconditions: { uid }, signal }),
          now: Date.now,
        }),
      { backoff: { base: 200, max: 60_000 } },
    );
}
