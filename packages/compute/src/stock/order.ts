import type { GPUUnit } from '@capstan/api';
import { clusterOf } from '@capstan/client';
import type { WarmOrder } from './stockroom.ts';

/** The warm unit that a unit could start in; undefined if none would do. */
export function warmOrderOf(unit: GPUUnit, allocation: string): WarmOrder | undefined {
  const { offering, image, nodes, network, mounts = [] } = unit.spec;
  if (offering === undefined || nodes !== 1 || network !== 'Isolated' || mounts.length > 0) return undefined;
  return { cluster: clusterOf(unit) ?? '', namespace: unit.metadata.namespace ?? '', name: allocation, offering, image };
}
