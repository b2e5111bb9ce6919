import type { Offering } from '@capstan/api';
import type { Scene } from './scene.ts';

/** Why a unit cannot start although its kind accepts it; the field comes first. Undefined if it can. */
export function problemOf({ unit, offering }: Pick<Scene, 'unit' | 'offering'>): string | undefined {
  const { network, offering: name } = unit.spec;
  const found: Offering | undefined = name === undefined ? undefined : offering(name);
  // An offering that does not exist is reported by the allocation.
  if (network === 'Host' && found !== undefined && !found.spec.exclusive)
    return `spec.network: Host needs an offering of whole nodes, and ${name} is not one`;
  return undefined;
}
