import {
  canonicalizeQuantity,
  compareQuantities,
  type FieldPath,
  type Fields,
  fieldsOf,
  isQuantity,
  names,
  parseQuantity,
  textOf,
} from '@capstan/machinery';
import type { Findings } from './findings.ts';

/** Parses a quantity; invalid ones were rejected when the object was decoded. */
function quantityOf(value: unknown) {
  const text = typeof value === 'string' || typeof value === 'number' ? value : '0';
  return parseQuantity(isQuantity(text) ? text : '0');
}

export function checkNonNegativeQuantity(found: Findings, at: FieldPath, value: unknown): void {
  if (quantityOf(value).value < 0n) found.invalid(at, value, 'must be greater than or equal to 0');
}

export function checkPositiveQuantity(found: Findings, at: FieldPath, value: unknown): void {
  if (quantityOf(value).value <= 0n) found.invalid(at, value, 'must be greater than zero');
}

/** A quantity as Kubernetes prints it. */
export function canonicalAmount(value: unknown): string {
  const text = typeof value === 'string' || typeof value === 'number' ? value : '0';
  return isQuantity(text) ? canonicalizeQuantity(text) : '0';
}

export function compareAmounts(one: unknown, other: unknown): number {
  return compareQuantities(quantityOf(one), quantityOf(other));
}

/** Resource names that are valid without a domain: those of nodes and of quotas. */
const standard = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'storage',
  'pods',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'requests.storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);
const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage']);

function isStandardContainerResource(name: string): boolean {
  return containerResources.has(name) || isHugePages(name);
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** Names in a domain other than Kubernetes' own are extended resources, such as devices: integers that cannot be overcommitted. */
function isExtended(name: string): boolean {
  const slash = name.indexOf('/');
  return slash !== -1 && !name.slice(0, slash).endsWith('kubernetes.io') && !name.startsWith('requests.');
}

function isOvercommitAllowed(name: string): boolean {
  return !isExtended(name) && !isHugePages(name);
}

/** Validates the name of a container resource. */
export function checkContainerResource(found: Findings, at: FieldPath, name: string): void {
  const problems = names.qualifiedName(name);
  found.invalid(at, name, problems);
  if (!name.includes('/')) {
    if (isStandardContainerResource(name)) return;
    if (problems.length === 0 && !standard.has(name)) found.invalid(at, name, 'must be a standard resource type or fully qualified');
    found.invalid(at, name, 'must be a standard resource for containers');
  } else if (isExtended(name) === false && !name.includes('kubernetes.io/')) {
    found.invalid(at, name, "doesn't follow extended resource name standard");
  }
}

function checkAmount(found: Findings, at: FieldPath, [name, value]: [string, unknown]): void {
  checkNonNegativeQuantity(found, at, value);
  if ((isExtended(name) || name === 'pods') && quantityOf(value).scale < 0 && !isWhole(value)) {
    found.invalid(at, value, 'must be an integer');
  }
}

export function isWhole(value: unknown): boolean {
  const { value: digits, scale } = quantityOf(value);
  return scale >= 0 || digits % 10n ** BigInt(-scale) === 0n;
}

/** Validates the requests and limits of a container. */
export function checkRequirements(found: Findings, at: FieldPath, requirements: Readonly<Fields>): void {
  const limits = fieldsOf(requirements['limits']);
  const requests = fieldsOf(requirements['requests']);
  for (const [name, value] of Object.entries(limits)) {
    const path = at.child('limits').key(name);
    checkContainerResource(found, path, name);
    checkAmount(found, path, [name, value]);
  }
  for (const [name, value] of Object.entries(requests)) {
    const path = at.child('requests');
    checkContainerResource(found, path.key(name), name);
    checkAmount(found, path.key(name), [name, value]);
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit === undefined) {
      if (!isOvercommitAllowed(name)) found.required(at.child('limits'), 'Limit must be set for non overcommitable resources');
    } else if (compareAmounts(value, limit) > 0) {
      found.invalid(path, value, `must be less than or equal to ${name} limit of ${textOf(limit)}`);
    } else if (!isOvercommitAllowed(name) && compareAmounts(value, limit) !== 0) {
      found.invalid(path, value, `must be equal to ${name} limit of ${textOf(limit)}`);
    }
  }
  const needsCompany = [limits, requests].some((amounts) => Object.keys(amounts).some(isHugePages));
  const hasCompany = [limits, requests].some((amounts) => Object.hasOwn(amounts, 'cpu') || Object.hasOwn(amounts, 'memory'));
  if (needsCompany && !hasCompany) found.forbidden(at, 'HugePages require cpu or memory');
}

/** Validates the capacity of a node or volume: any resource, never negative. */
export function checkAmounts(found: Findings, at: FieldPath, amounts: Readonly<Fields>): void {
  for (const [name, value] of Object.entries(amounts)) {
    if (!standard.has(name)) found.invalid(at.child(name), name, names.qualifiedName(name));
    checkNonNegativeQuantity(found, at.child(name), value);
  }
}
