import { type FieldError, type FieldPath, type Fields, fieldError, isAbsent, names, textsOf } from '@capstan/machinery';
import { repeats } from '../shared/repeats.ts';

/** Validates which requests a webhook or policy is called for. */

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes = ['*', 'Cluster', 'Namespaced'];

export function ruleErrors(rule: Fields, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const given = textsOf(rule['operations']);
  const versions = textsOf(rule['apiVersions']);
  if (given.length === 0) errors.push(fieldError.required(path.child('operations')));
  errors.push(...wildcardErrors(given, path.child('operations'), 'operations'));
  given.forEach((operation, index) => {
    if (!operations.includes(operation)) errors.push(fieldError.notSupported(path.child('operations').index(index), operation, operations));
  });
  errors.push(...listErrors(rule['apiGroups'], path.child('apiGroups'), 'API groups'));
  errors.push(...listErrors(versions, path.child('apiVersions'), 'API versions'));
  versions.forEach((version, index) => {
    if (version === '') errors.push(fieldError.required(path.child('apiVersions').index(index)));
  });
  errors.push(...resourceErrors(textsOf(rule['resources']), path.child('resources')));
  if (!isAbsent(rule['scope']) && !scopes.includes(rule['scope'] as string)) {
    errors.push(fieldError.notSupported(path.child('scope'), rule['scope'], scopes));
  }
  return errors;
}

function listErrors(value: unknown, path: FieldPath, what: string): FieldError[] {
  const list = textsOf(value);
  return list.length === 0 ? [fieldError.required(path)] : wildcardErrors(list, path, what);
}

function wildcardErrors(list: readonly string[], path: FieldPath, what: string): FieldError[] {
  if (list.length < 2 || !list.includes('*')) return [];
  return [fieldError.invalid(path, list, `if '*' is present, must not specify other ${what}`)];
}

/**
 * Validates resources such as `pods`, `pods/log`, `pods/*` and the scale of all resources; an entry that another one covers is an error.
 */
function resourceErrors(resources: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (resources.length === 0) errors.push(fieldError.required(path));
  const wholeResources = new Set<string>();
  const everywhere = new Set<string>();
  let plain = false;
  resources.forEach((text, index) => {
    if (text === '') {
      errors.push(fieldError.required(path.index(index)));
      return;
    }
    const slash = text.indexOf('/');
    if (slash === -1) {
      plain = text !== '*';
      return;
    }
    const resource = text.slice(0, slash);
    const subresource = text.slice(slash + 1);
    const covered = (by: string): FieldError =>
      fieldError.invalid(path.index(index), text, `if '${by}' is present, must not specify ${text}`);
    if (wholeResources.has(resource)) errors.push(covered(`${resource}/*`));
    if (everywhere.has(subresource)) errors.push(covered(`*/${subresource}`));
    if (subresource === '*') wholeResources.add(resource);
    if (resource === '*') everywhere.add(subresource);
  });
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(fieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes('*') && plain) {
    errors.push(fieldError.invalid(path, resources, "if '*' is present, must not specify other resources without subresources"));
  }
  return errors;
}

export function namedRuleErrors(rule: Fields, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const given = textsOf(rule['resourceNames']);
  const isRepeated = repeats<string>();
  given.forEach((name, index) => {
    const at = path.child('resourceNames').index(index);
    for (const message of names.pathSegment(name)) errors.push(fieldError.invalid(at, name, message));
    if (isRepeated(name)) errors.push(fieldError.duplicate(at, name));
  });
  return [...errors, ...ruleErrors(rule, path)];
}

export const matchPolicies = ['Equivalent', 'Exact'];
export const failurePolicies = ['Fail', 'Ignore'];

/** Validates an optional enum field. */
export function choiceErrors(value: unknown, allowed: readonly string[], path: FieldPath): FieldError[] {
  return isAbsent(value) || allowed.includes(value as string) ? [] : [fieldError.notSupported(path, value, allowed)];
}
