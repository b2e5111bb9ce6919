import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  itemsOf,
  maybeFields,
  names,
  numberOf,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { keepPart, sameValue } from '../parts.ts';
import { applyDefaults, made } from '../shared/defaulting.ts';
import { keepMetadata } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { conditionErrors } from './conditions.ts';
import { mandatoryFlowSchemas } from './mandatory.ts';

const spec = FieldPath.of('spec');
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const distinguishers = ['ByNamespace', 'ByUser'];
const maxPrecedence = 10000;

/** Each kind of subject has its own field, and only that one may be set. */
const subjectFields: Readonly<Record<string, string>> = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' };

function precedenceErrors(precedence: number, name: string): FieldError[] {
  const path = spec.child('matchingPrecedence');
  const errors: FieldError[] = [];
  if (precedence <= 0) errors.push(fieldError.invalid(path, precedence, 'must be a positive value'));
  if (precedence > maxPrecedence) errors.push(fieldError.invalid(path, precedence, `must not be greater than ${maxPrecedence}`));
  if (precedence === 1 && name !== 'exempt') {
    errors.push(fieldError.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"));
  }
  return errors;
}

function subjectErrors(subject: Fields, path: FieldPath): FieldError[] {
  const kind = textOf(subject['kind']);
  if (!Object.hasOwn(subjectFields, kind)) return [fieldError.notSupported(path.child('kind'), kind, ['Group', 'ServiceAccount', 'User'])];
  const field = subjectFields[kind]!;
  const value = maybeFields(subject[field]);
  const errors =
    value === undefined
      ? [fieldError.required(path.child(field), `${field} is required when subject kind is '${kind}'`)]
      : kind === 'ServiceAccount'
        ? accountErrors(value, path.child(field))
        : value['name']
          ? []
          : [fieldError.required(path.child(field, 'name'))];
  for (const [otherKind, other] of Object.entries(subjectFields)) {
    if (other !== field && maybeFields(subject[other]) !== undefined) {
      errors.push(fieldError.forbidden(path.child(other), `${other} is forbidden when subject kind is not '${otherKind}'`));
    }
  }
  return errors;
}

function accountErrors(account: Fields, path: FieldPath): FieldError[] {
  const name = textOf(account['name']);
  const namespace = textOf(account['namespace']);
  const errors: FieldError[] = [];
  if (name === '') errors.push(fieldError.required(path.child('name')));
  else if (name !== '*')
    for (const message of names.dns1123Subdomain(name)) errors.push(fieldError.invalid(path.child('name'), name, message));
  if (namespace === '') errors.push(fieldError.required(path.child('namespace'), 'must specify namespace for service account'));
  else for (const message of names.dns1123Label(namespace)) errors.push(fieldError.invalid(path.child('namespace'), namespace, message));
  return errors;
}

function wildcardErrors(list: readonly string[], path: FieldPath, what: string): FieldError[] {
  if (list.length < 2 || !list.includes('*')) return [];
  return [fieldError.invalid(path, list, `if '*' is present, must not specify other ${what}`)];
}

function verbErrors(given: readonly string[], path: FieldPath): FieldError[] {
  if (given.length === 0) return [fieldError.required(path, 'verbs must contain at least one value')];
  if (given.includes('*')) return wildcardErrors(given, path, 'verbs');
  return given.every((verb) => verbs.includes(verb)) ? [] : [fieldError.notSupported(path, given, verbs)];
}

function resourceRuleErrors(rule: Fields, path: FieldPath): FieldError[] {
  const groups = textsOf(rule['apiGroups']);
  const resources = textsOf(rule['resources']);
  const namespaces = textsOf(rule['namespaces']);
  const errors = verbErrors(textsOf(rule['verbs']), path.child('verbs'));
  if (groups.length === 0) errors.push(fieldError.required(path.child('apiGroups'), 'resource rules must supply at least one api group'));
  errors.push(...wildcardErrors(groups, path.child('apiGroups'), 'api groups'));
  if (resources.length === 0) errors.push(fieldError.required(path.child('resources'), 'resource rules must supply at least one resource'));
  errors.push(...wildcardErrors(resources, path.child('resources'), 'resources'));
  const at = path.child('namespaces');
  if (namespaces.length === 0 && rule['clusterScope'] !== true) {
    errors.push(fieldError.required(at, 'resource rules that are not cluster scoped must supply at least one namespace'));
  } else if (namespaces.includes('*')) errors.push(...wildcardErrors(namespaces, at, 'namespaces'));
  else {
    namespaces.forEach((namespace, index) => {
      for (const message of names.dns1123Label(namespace)) {
        const detail = `each member of this list must be '*' or a DNS-1123 label; ${message}`;
        errors.push(fieldError.invalid(at.index(index), namespace, detail));
      }
    });
  }
  return errors;
}

function urlRuleErrors(rule: Fields, path: FieldPath): FieldError[] {
  const urls = textsOf(rule['nonResourceURLs']);
  const at = path.child('nonResourceURLs');
  const errors = verbErrors(textsOf(rule['verbs']), path.child('verbs'));
  if (urls.length === 0) errors.push(fieldError.required(at, 'nonResourceURLs must contain at least one value'));
  else if (urls.includes('*')) errors.push(...wildcardErrors(urls, at, 'non-resource URLs'));
  else {
    urls.forEach((url, index) => {
      const problem = urlProblem(url);
      if (problem !== undefined) errors.push(fieldError.invalid(at.index(index), url, problem));
    });
  }
  return errors;
}

function urlProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const star = url.indexOf('*');
  return star === -1 || (star === url.length - 1 && url.endsWith('/*')) ? undefined : 'wildcard can only do suffix matching';
}

function ruleErrors(rule: Fields, path: FieldPath): FieldError[] {
  const subjects = itemsOf(rule['subjects']);
  const resourceRules = itemsOf(rule['resourceRules']);
  const urlRules = itemsOf(rule['nonResourceRules']);
  const errors =
    subjects.length === 0
      ? [fieldError.required(path.child('subjects'), 'subjects must contain at least one value')]
      : subjects.flatMap((subject, index) => subjectErrors(subject, path.child('subjects').index(index)));
  if (resourceRules.length === 0 && urlRules.length === 0) {
    errors.push(fieldError.required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  return [
    ...errors,
    ...resourceRules.flatMap((item, index) => resourceRuleErrors(item, path.child('resourceRules').index(index))),
    ...urlRules.flatMap((item, index) => urlRuleErrors(item, path.child('nonResourceRules').index(index))),
  ];
}

export const flowschemas: Strategy = {
  generation: true,
  default: (object) => applyDefaults(made(object, 'spec'), { setNumbers: { matchingPrecedence: 1000 } }),
  prepareForCreate(object) {
    object['status'] = {};
  },
  prepareForUpdate: (object, old) => keepPart(object, old, 'status'),
  validate(object) {
    const schema = fieldsOf(object['spec']);
    const name = object.metadata.name ?? '';
    const method = maybeFields(schema['distinguisherMethod']);
    const level = textOf(fieldsOf(schema['priorityLevelConfiguration'])['name']);
    const levelPath = spec.child('priorityLevelConfiguration', 'name');
    const mandatory = mandatoryFlowSchemas.get(name);
    const errors = precedenceErrors(numberOf(schema['matchingPrecedence']), name);
    if (method !== undefined && !distinguishers.includes(textOf(method['type']))) {
      errors.push(fieldError.notSupported(spec.child('distinguisherMethod', 'type'), { Type: textOf(method['type']) }, distinguishers));
    }
    if (level === '') errors.push(fieldError.required(levelPath, 'must reference a priority level'));
    else for (const message of names.dns1123Subdomain(level)) errors.push(fieldError.invalid(levelPath, level, message));
    errors.push(...itemsOf(schema['rules']).flatMap((rule, index) => ruleErrors(rule, spec.child('rules').index(index))));
    if (mandatory !== undefined && !sameValue(schema, mandatory)) {
      errors.push(fieldError.invalid(spec, schema, `spec of '${name}' must equal the fixed value`));
    }
    return errors;
  },
  resetFields: { main: [['status']], status: [['spec'], ['metadata']] },
  status: {
    prepareForUpdate: (object, old) => {
      keepPart(object, old, 'spec');
      keepMetadata(object, old);
    },
    validateUpdate: conditionErrors,
  },
};
