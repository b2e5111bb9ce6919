import { type NodeReservation, nodeReservationKind } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { type Controller, controller, done, ignoring, isDeleting, requeueAfter } from '@capstan/controller';
import { name as controllerName } from './registration.ts';

/** In milliseconds: timers cannot wait for weeks. */
const longestWait = 3_600_000;

/** Deletes reservations that have expired. The scheduler ignores them from that moment, whether they were deleted or not. */
export function reservations({ now = Date.now }: { readonly now?: () => number } = {}): Controller<NodeReservation> {
  return controller(controllerName)
    .for<NodeReservation>(nodeReservationKind)
    .reconcile(async ({ object, client }) => {
      if (object === undefined || isDeleting(object)) return done;
      const { name = '', uid = '', resourceVersion = '' } = object.metadata;
      const left = Date.parse(object.spec.until) - now();
      if (left > 0) return requeueAfter(Math.min(left, longestWait));
      // Not if somebody has just prolonged it.
      const options = { preconditions: { uid, resourceVersion } };
      await ignoring(client.resource<NodeReservation>(nodeReservationKind).delete(name, options), isNotFound);
      return done;
    });
}
