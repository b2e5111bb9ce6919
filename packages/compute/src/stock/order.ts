import type { Allocation, GPUUnit } from '@capstan/api';
import { clusterOf } from '@capstan/client';
import type { Order } from './stockroom.ts';

/** The order of a unit that can be promised something before its Allocation exists; undefined for gangs and for units with storages, which have a say in the node. */
export function orderOf(unit: GPUUnit, { metadata: { name = '' }, spec }: Allocation): Order | undefined {
  const { offering, image, nodes, network, mounts = [] } = unit.spec;
  if (nodes !== 1 || mounts.length > 0) return undefined;
  const warm = offering === undefined || network !== 'Isolated' ? undefined : { offering, image };
  return { cluster: clusterOf(unit) ?? '', namespace: unit.metadata.namespace ?? '', name, spec, ...(warm && { warm }) };
}
