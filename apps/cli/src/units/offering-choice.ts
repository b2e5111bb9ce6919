import type { Offering, OfferingSpec } from '@capstan/api';
import { offeringKind } from '@capstan/api';
import { parseQuantity, scaledValue } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { answered, type Units } from './units.ts';

/** The offering of somebody who asks for nothing in particular: the smallest. */
export async function defaultOffering(units: Units): Promise<string> {
  const { items } = await answered(units, units.client.resource<Offering>(offeringKind).list());
  const smallest = items.toSorted((one, other) => compareSizes(one.spec, other.spec))[0];
  if (smallest?.metadata.name !== undefined) return smallest.metadata.name;
  throw new Failure(
    'usage',
    'there are no offerings yet. The owner of the platform makes one with "capstan offering create small --cpu 1 --memory 1Gi"; or ask for resources: capstan run --cpu 1 --memory 1Gi -- COMMAND',
  );
}

/** Whole nodes are larger than shares of a node, which are larger than a number of GPUs; then cores and memory count. */
export function compareSizes(one: OfferingSpec, other: OfferingSpec): number {
  const [a, b] = [sizeOf(one), sizeOf(other)];
  const index = a.findIndex((value, at) => value !== b[at]);
  return index < 0 ? 0 : a[index]! - b[index]!;
}

function sizeOf({ exclusive, fraction, gpu, cpu, memory }: OfferingSpec): number[] {
  const amount = (value: string | number | undefined): number => (value === undefined ? 0 : Number(scaledValue(parseQuantity(value), -3)));
  return [exclusive ? 1 : 0, fraction === undefined ? 0 : 1 / fraction, gpu?.count ?? 0, amount(cpu), amount(memory)];
}
