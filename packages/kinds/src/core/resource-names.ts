import { type FieldError, type FieldPath, fieldError, names } from '@capstan/machinery';

/** Names of resources that can be limited, such as `cpu`, `requests.storage` and `example.com/gpu`. */

const counted = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage']);
const quotaResources = new Set([
  ...containerResources,
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  ...counted,
]);
const integers = new Set(counted);

const isHugePage = (name: string): boolean => name.startsWith('hugepages-');
const isQuotaHugePage = (name: string): boolean => isHugePage(name) || name.startsWith('requests.hugepages-');

export const isStandardQuotaResource = (name: string): boolean => quotaResources.has(name) || isQuotaHugePage(name);

/** True for names without a domain or in a domain of Kubernetes. */
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && names.qualifiedName(`requests.${name}`).length === 0;

export const isInteger = (name: string): boolean => integers.has(name) || isExtended(name);

export const isOvercommitAllowed = (name: string): boolean => isNative(name) && !isHugePage(name);

export function validateResourceName(name: string, path: FieldPath): FieldError[] {
  const wrong = names.qualifiedName(name).map((message) => fieldError.invalid(path, name, message));
  if (wrong.length > 0 || name.includes('/') || name === 'storage' || isStandardQuotaResource(name)) return wrong;
  return [fieldError.invalid(path, name, 'must be a standard resource type or fully qualified')];
}

export function validateQuotaResourceName(name: string, path: FieldPath): FieldError[] {
  const wrong = validateResourceName(name, path);
  if (!name.includes('/') && !isStandardQuotaResource(name)) {
    wrong.push(fieldError.invalid(path, name, 'must be a standard resource for quota'));
  }
  return wrong;
}

export function validateContainerResourceName(name: string, path: FieldPath): FieldError[] {
  const wrong = validateResourceName(name, path);
  if (!name.includes('/')) {
    if (!containerResources.has(name) && !isHugePage(name)) {
      wrong.push(fieldError.invalid(path, name, 'must be a standard resource for containers'));
    }
  } else if (!isNative(name) && !isExtended(name)) {
    wrong.push(fieldError.invalid(path, name, "doesn't follow extended resource name standard"));
  }
  return wrong;
}
