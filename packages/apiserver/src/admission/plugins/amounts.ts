import { addQuantities, compareQuantities, parseQuantity, printQuantity, type Quantity, zeroQuantity } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf } from '../../kinds/workloads/reading.ts';

/** Amounts by the name of what they are of. */
export type Amounts = ReadonlyMap<string, Quantity>;

export function amountsOf(value: unknown): Amounts {
  const amounts = new Map<string, Quantity>();
  for (const [name, amount] of Object.entries(fieldsOf(value))) amounts.set(name, parseQuantity(amount as string | number));
  return amounts;
}

/** What stands in objects: an amount that was read from text prints as that text. */
export function amountText(amount: Quantity): string {
  return amount.text ?? printQuantity(amount);
}

/** All containers of a pod, those that run before the others too. */
export function containersOf(pod: Readonly<Fields>): readonly Fields[] {
  const spec = fieldsOf(pod['spec']);
  return [...itemsOf(spec['containers']), ...itemsOf(spec['initContainers'])];
}

/** What a pod needs as a whole: containers side by side, or the largest that runs before them. */
export function podAmounts(pod: Readonly<Fields>, kind: 'requests' | 'limits'): Amounts {
  const spec = fieldsOf(pod['spec']);
  const of = (container: Readonly<Fields>): Amounts => amountsOf(fieldsOf(container['resources'])[kind]);
  const total = new Map<string, Quantity>();
  for (const container of itemsOf(spec['containers'])) add(total, of(container));
  const sidecars = new Map<string, Quantity>();
  const before = new Map<string, Quantity>();
  for (const container of itemsOf(spec['initContainers'])) {
    if (container['restartPolicy'] === 'Always') {
      add(total, of(container));
      add(sidecars, of(container));
      raise(before, sidecars);
    } else {
      const together = new Map(of(container));
      add(together, sidecars);
      raise(before, together);
    }
  }
  raise(total, before);
  for (const [name, amount] of amountsOf(fieldsOf(spec['resources'])[kind]))
    if (name === 'cpu' || name === 'memory') total.set(name, amount);
  return total;
}

function add(total: Map<string, Quantity>, more: Amounts): void {
  for (const [name, amount] of more) total.set(name, addQuantities(total.get(name) ?? { ...zeroQuantity, format: amount.format }, amount));
}

function raise(total: Map<string, Quantity>, other: Amounts): void {
  for (const [name, amount] of other) {
    const current = total.get(name);
    if (current === undefined || compareQuantities(amount, current) > 0) total.set(name, amount);
  }
}
