import { type NodeBooking, type NodeUnit, nodeBookingKind, nodeNamespace, nodeOfNamespace, nodeUnitKind } from '@capstan/api';
import { type Informer, isAlreadyExists, isNotFound } from '@capstan/client';
import { type Controller, controller, done, ignoring, requeueAfter } from '@capstan/controller';
import { BoundedMap } from '@capstan/machinery';
import { nodeUnitsOf, unitsOn } from '../units/copies.ts';
import { isWarmUnit, warmNodeUnit } from './mark.ts';
import { pauseLeft } from './pause.ts';

interface Copies {
  readonly nodeUnits: Informer<NodeUnit>;
}

/** In milliseconds: the node first starts the unit that took its place, and then removes the traces of a warm one. */
const removeAfter = 1_000;

/** Has nodes prepare the warm units of their bookings, and removes the traces of those that were taken or given up. Nothing of them ever runs, so nothing is waited for. */
export function stock(): Controller<NodeBooking, Copies> {
  /** Since when NodeUnits are no longer wanted, by their UID, in milliseconds. */
  const unwanted = new BoundedMap<string, number>(10_000);
  return controller('stock')
    .for<NodeBooking>(nodeBookingKind)
    .reads((informers): Copies => ({ nodeUnits: nodeUnitsOf(informers) }))
    .watches<NodeUnit>(nodeUnitKind, ({ metadata, spec }) => {
      const name = spec.warm ? nodeOfNamespace(metadata.namespace ?? '') : undefined;
      return name === undefined ? [] : [{ name }];
    })
    .reconcile(async ({ key: { name: node }, object: booking, copies, client, wrote }) => {
      const resource = client.resource<NodeUnit>(nodeUnitKind).in(nodeNamespace(node));
      const wanted = (booking?.spec.entries ?? []).filter(isWarmUnit).map((entry) => warmNodeUnit({ node, entry }));
      const present = unitsOn(copies.nodeUnits, nodeNamespace(node)).filter(({ spec }) => spec.warm);
      const names = new Set(wanted.map(({ metadata }) => metadata.name));
      // One that could not be prepared stays, and says why: agents never take the same name twice.
      let pause = 0;
      for (const { metadata } of present.filter((one) => !names.has(one.metadata.name))) {
        const { name = '', uid = '' } = metadata;
        const now = performance.now();
        const left = pauseLeft(removeAfter, { since: unwanted.getOrCompute(uid, () => now), now });
        pause = Math.max(pause, left);
        if (left > 0) continue;
        await ignoring(resource.delete(name, { preconditions: { uid } }), isNotFound);
        unwanted.delete(uid);
      }
      const known = new Set(present.map(({ metadata }) => metadata.name));
      for (const one of wanted.filter(({ metadata }) => !known.has(metadata.name))) {
        const made = await ignoring(resource.create(one), isAlreadyExists, isNotFound);
        if (made !== undefined) wrote(made, nodeUnitKind);
      }
      return pause > 0 ? requeueAfter(pause) : done;
    });
}
