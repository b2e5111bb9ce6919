import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  textOf,
  textsOf,
  validateLabelSelector,
} from '@capstan/machinery';
import { sameValue } from '../parts.ts';
import type { Strategy } from '../strategy.ts';

const group = 'rbac.authorization.k8s.io';
const roleRef = FieldPath.of('roleRef');
const selectors = FieldPath.of('aggregationRule', 'clusterRoleSelectors');

/** Validates generateName prefixes like names: Kubernetes rejects the prefixes `.` and `..` too. */
const validateName = (name: string): string[] => names.pathSegment(name, false);

function ruleErrors(rule: Fields, scope: 'namespaced' | 'cluster', path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const urls = textsOf(rule['nonResourceURLs']);
  const groups = textsOf(rule['apiGroups']);
  const resources = textsOf(rule['resources']);
  if (textsOf(rule['verbs']).length === 0) errors.push(fieldError.required(path.child('verbs'), 'verbs must contain at least one value'));
  if (urls.length > 0) {
    const at = path.child('nonResourceURLs');
    if (scope === 'namespaced') errors.push(fieldError.invalid(at, urls, 'namespaced rules cannot apply to non-resource URLs'));
    if (groups.length > 0 || resources.length > 0 || textsOf(rule['resourceNames']).length > 0) {
      errors.push(fieldError.invalid(at, urls, 'rules cannot apply to both regular resources and non-resource URLs'));
    }
    return errors;
  }
  if (groups.length === 0) errors.push(fieldError.required(path.child('apiGroups'), 'resource rules must supply at least one api group'));
  if (resources.length === 0) errors.push(fieldError.required(path.child('resources'), 'resource rules must supply at least one resource'));
  return errors;
}

function rulesErrors(object: KubeObject, scope: 'namespaced' | 'cluster'): FieldError[] {
  return itemsOf(object['rules']).flatMap((rule, index) => ruleErrors(rule, scope, FieldPath.of('rules').index(index)));
}

function aggregationErrors(object: KubeObject): FieldError[] {
  const aggregation = maybeFields(object['aggregationRule']);
  if (aggregation === undefined) return [];
  const given = itemsOf(aggregation['clusterRoleSelectors']);
  if (given.length === 0)
    return [fieldError.required(selectors, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  return given.flatMap((selector, index) => {
    const errors = validateLabelSelector(selector, selectors.index(index));
    return errors.length === 0 ? errors : [...errors, fieldError.invalid(selectors.index(index), null, 'invalid label selector.')];
  });
}

const roles: Strategy = {
  validateName,
  createOnUpdate: true,
  validate: (object) => rulesErrors(object, 'namespaced'),
};

const clusterroles: Strategy = {
  validateName,
  createOnUpdate: true,
  validate: (object) => [...rulesErrors(object, 'cluster'), ...aggregationErrors(object)],
};

/** Users and groups default to the RBAC group, service accounts to the core group. */
function defaultBinding(object: KubeObject): void {
  const reference = maybeFields(object['roleRef']);
  if (reference !== undefined && !reference['apiGroup']) reference['apiGroup'] = group;
  for (const subject of itemsOf(object['subjects'])) {
    if (!subject['apiGroup'] && (subject['kind'] === 'User' || subject['kind'] === 'Group')) subject['apiGroup'] = group;
  }
}

function referenceErrors(object: KubeObject, kinds: readonly string[]): FieldError[] {
  const { apiGroup, kind, name } = fieldsOf(object['roleRef']);
  const errors: FieldError[] = [];
  if (apiGroup !== group) errors.push(fieldError.notSupported(roleRef.child('apiGroup'), textOf(apiGroup), [group]));
  if (!kinds.includes(textOf(kind))) errors.push(fieldError.notSupported(roleRef.child('kind'), textOf(kind), kinds));
  if (!name) errors.push(fieldError.required(roleRef.child('name')));
  else for (const message of validateName(textOf(name))) errors.push(fieldError.invalid(roleRef.child('name'), name, message));
  return errors;
}

function subjectErrors(subject: Fields, scope: 'namespaced' | 'cluster', path: FieldPath): FieldError[] {
  const { kind, name, apiGroup, namespace } = subject;
  const errors: FieldError[] = [];
  if (!name) errors.push(fieldError.required(path.child('name')));
  switch (kind) {
    case 'ServiceAccount':
      if (name)
        for (const message of names.dns1123Subdomain(textOf(name))) errors.push(fieldError.invalid(path.child('name'), name, message));
      if (apiGroup) errors.push(fieldError.notSupported(path.child('apiGroup'), apiGroup, ['']));
      if (scope === 'cluster' && !namespace) errors.push(fieldError.required(path.child('namespace')));
      break;
    case 'User':
    case 'Group':
      if (apiGroup !== group) errors.push(fieldError.notSupported(path.child('apiGroup'), textOf(apiGroup), [group]));
      break;
    default:
      errors.push(fieldError.notSupported(path.child('kind'), textOf(kind), ['ServiceAccount', 'User', 'Group']));
  }
  return errors;
}

function binding(scope: 'namespaced' | 'cluster', kinds: readonly string[]): Strategy {
  return {
    validateName,
    createOnUpdate: true,
    default: defaultBinding,
    validate: (object) => [
      ...referenceErrors(object, kinds),
      ...itemsOf(object['subjects']).flatMap((subject, index) => subjectErrors(subject, scope, FieldPath.of('subjects').index(index))),
    ],
    validateUpdate(object, old) {
      if (sameValue(object['roleRef'], old['roleRef'])) return [];
      const { apiGroup, kind, name } = fieldsOf(object['roleRef']);
      // Kubernetes prints its internal form.
      const printed = { APIGroup: textOf(apiGroup), Kind: textOf(kind), Name: textOf(name) };
      return [fieldError.invalid(roleRef, printed, 'cannot change roleRef')];
    },
  };
}

export const rbacStrategies: ReadonlyMap<string, Strategy> = new Map([
  [`${group}/roles`, roles],
  [`${group}/clusterroles`, clusterroles],
  [`${group}/rolebindings`, binding('namespaced', ['Role', 'ClusterRole'])],
  [`${group}/clusterrolebindings`, binding('cluster', ['ClusterRole'])],
]);
