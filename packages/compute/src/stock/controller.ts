import { type NodeBooking, type NodeUnit, nodeBookingKind, nodeNamespace, nodeOfNamespace, nodeUnitKind } from '@capstan/api';
import { type Informer, isAlreadyExists, isNotFound } from '@capstan/client';
import { type Controller, controller, done, ignoring } from '@capstan/controller';
import { nodeUnitsOf, unitsOn } from '../units/copies.ts';
import { isWarmUnit, warmNodeUnit } from './mark.ts';

interface Copies {
  readonly nodeUnits: Informer<NodeUnit>;
}

/** Has nodes prepare the warm units of their bookings, and removes the traces of those that were taken or given up. Nothing of them ever runs, so nothing is waited for. */
export function stock(): Controller<NodeBooking, Copies> {
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
      for (const { metadata } of present.filter((one) => !names.has(one.metadata.name)))
        await ignoring(resource.delete(metadata.name ?? '', { preconditions: { uid: metadata.uid ?? '' } }), isNotFound);
      const known = new Set(present.map(({ metadata }) => metadata.name));
      for (const one of wanted.filter(({ metadata }) => !known.has(metadata.name))) {
        const made = await ignoring(resource.create(one), isAlreadyExists, isNotFound);
        if (made !== undefined) wrote(made, nodeUnitKind);
      }
      return done;
    });
}
