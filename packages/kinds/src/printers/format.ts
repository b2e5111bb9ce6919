import { fieldsOf, itemsOf, type LabelSelectorObject, selectorOfObject, stringMapOf, textOf, textsOf } from '@capstan/machinery';

export const none = '<none>';
export const unset = '<unset>';

function byText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

export function sorted(texts: Iterable<string>): string[] {
  return [...texts].sort(byText);
}

function joinedLabels(labels: Readonly<Record<string, string>>): string {
  return sorted(Object.keys(labels))
    .map((key) => `${key}=${labels[key]}`)
    .join(',');
}

export function labels(value: unknown): string {
  return joinedLabels(stringMapOf(value)) || none;
}

/** A label selector as one line: equality first, then expressions, each sorted by key. */
export function selectorText(value: unknown): string {
  return selectorOfObject(value as LabelSelectorObject | undefined).toString();
}

export function selector(value: unknown): string {
  return selectorText(value) || none;
}
/** The names and images of a pod's containers, as two cells. */
export function containers(podSpec: unknown): [names: string, images: string] {
  const list = itemsOf(fieldsOf(podSpec)['containers']);
  return [list.map((container) => textOf(container['name'])).join(','), list.map((container) => textOf(container['image'])).join(',')];
}

export function templateSpec(owner: unknown): unknown {
  return fieldsOf(fieldsOf(owner)['template'])['spec'];
}

/** The first items of a list and the number of the others; undefined if the list is empty. The list may have fewer than the count. */
export function firstAndMore(list: readonly string[], shown: number, count = list.length): string | undefined {
  if (list.length === 0) return undefined;
  const text = list.slice(0, shown).join(',');
  return count > shown ? `${text} + ${count - shown} more...` : text;
}

export function textOr(value: unknown, otherwise: string): string {
  return textOf(value) || otherwise;
}

/** Like textOr, but for optional fields, where an empty string is a value. */
export function optionalText(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

export function optionalBoolean(value: unknown, otherwise: boolean): boolean {
  return typeof value === 'boolean' ? value : otherwise;
}

/** The addresses of a load balancer's status, in order and without duplicates. */
export function ingressAddresses(status: unknown): string[] {
  const found = new Set<string>();
  for (const ingress of itemsOf(fieldsOf(fieldsOf(status)['loadBalancer'])['ingress'])) {
    const address = textOf(ingress['ip']) || textOf(ingress['hostname']);
    if (address !== '') found.add(address);
  }
  return sorted(found);
}

const accessModeNames = new Map([
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]);

/** Access modes as short names, always in the same order. */
export function accessModes(value: unknown): string {
  const modes = textsOf(value);
  return [...accessModeNames]
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',');
}

const betaClass = 'volume.beta.kubernetes.io/storage-class';

/** The storage class of a volume or claim: the legacy annotation wins over the field. */
export function storageClass(annotations: Readonly<Record<string, string>> | undefined, spec: unknown): string {
  return annotations !== undefined && Object.hasOwn(annotations, betaClass)
    ? annotations[betaClass]!
    : textOf(fieldsOf(spec)['storageClassName']);
}
