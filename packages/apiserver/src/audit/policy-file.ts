import { type FieldError, FieldPath, fieldError, isObject, type Json, type JsonObject, names, parseYaml } from '@capstan/machinery';
import type { AuditPolicy, Level, Stage } from './policy.ts';

/** An invalid policy file. Every problem names its field, or its line if the file is not YAML. */
export class AuditPolicyError extends Error {
  override readonly name = 'AuditPolicyError';
}

const levels: readonly Level[] = ['None', 'Metadata', 'Request', 'RequestResponse'];
const stages: readonly Stage[] = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'];

/** Parses a Policy of audit.k8s.io/v1, as used with kube-apiserver's --audit-policy-file. */
export function parseAuditPolicy(text: string): AuditPolicy {
  let root: Json;
  try {
    root = parseYaml(text);
  } catch (error) {
    throw new AuditPolicyError(`the audit policy is not valid YAML: ${(error as Error).message}`, { cause: error });
  }
  const errors = isObject(root) ? validate(root) : [fieldError.invalid(FieldPath.of('policy'), root, 'expected a mapping')];
  if (errors.length > 0)
    throw new AuditPolicyError(`the audit policy is invalid: ${errors.map(({ field, body }) => `${field}: ${body}`).join('; ')}`);
  return root as unknown as AuditPolicy;
}

type Check = (value: Json, path: FieldPath) => FieldError[];

const textList: Check = (value, path) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? []
    : [fieldError.typeInvalid(path, value, 'expected a list of strings')];
const flag: Check = (value, path) => (typeof value === 'boolean' ? [] : [fieldError.typeInvalid(path, value, 'expected true or false')]);
const stageList: Check = (value, path) => [
  ...textList(value, path),
  ...(Array.isArray(value) ? value : []).flatMap((stage, index) =>
    stages.includes(stage as Stage) ? [] : [fieldError.invalid(path.index(index), stage, `allowed stages are ${stages.join(',')}`)],
  ),
];

const policyFields: Readonly<Record<string, Check>> = {
  apiVersion: (value, path) => (value === 'audit.k8s.io/v1' ? [] : [fieldError.notSupported(path, value, ['audit.k8s.io/v1'])]),
  kind: (value, path) => (value === 'Policy' ? [] : [fieldError.notSupported(path, value, ['Policy'])]),
  metadata: () => [],
  omitStages: stageList,
  omitManagedFields: flag,
  rules: (value, path) => each(value, path, validateRule),
};

const ruleFields: Readonly<Record<string, Check>> = {
  level: (value, path) => (levels.includes(value as Level) ? [] : [fieldError.notSupported(path, value, levels)]),
  users: textList,
  userGroups: textList,
  verbs: textList,
  namespaces: textList,
  nonResourceURLs: (value, path) => [...textList(value, path), ...validateUrls(value, path)],
  resources: (value, path) => each(value, path, validateResources),
  omitStages: stageList,
  omitManagedFields: flag,
};

const resourceFields: Readonly<Record<string, Check>> = {
  group: (value, path) => {
    if (typeof value !== 'string') return [fieldError.typeInvalid(path, value, 'expected a string')];
    return value === '' ? [] : names.dns1123Subdomain(value).map((message) => fieldError.invalid(path, value, message));
  },
  resources: textList,
  resourceNames: textList,
};

function each(value: Json, path: FieldPath, check: (item: JsonObject, path: FieldPath) => FieldError[]): FieldError[] {
  if (!Array.isArray(value)) return [fieldError.typeInvalid(path, value, 'expected a list')];
  return value.flatMap((item, index) =>
    isObject(item) ? check(item, path.index(index)) : [fieldError.typeInvalid(path.index(index), item, 'expected a mapping')],
  );
}

function fields(object: JsonObject, checks: Readonly<Record<string, Check>>, path: (name: string) => FieldPath): FieldError[] {
  return Object.entries(object).flatMap(([name, value]) => {
    if (!Object.hasOwn(checks, name))
      return [fieldError.invalid(path(name), value, `unknown field; known are ${Object.keys(checks).join(', ')}`)];
    return value === null ? [] : checks[name]!(value, path(name));
  });
}

function validate(root: JsonObject): FieldError[] {
  const missing = ['apiVersion', 'kind', 'rules'].filter((name) => root[name] === undefined || root[name] === null);
  return [...missing.map((name) => fieldError.required(FieldPath.of(name))), ...fields(root, policyFields, (name) => FieldPath.of(name))];
}

function validateRule(rule: JsonObject, path: FieldPath): FieldError[] {
  const errors = fields(rule, ruleFields, (name) => path.child(name));
  if (rule['level'] === undefined || rule['level'] === null) errors.unshift(fieldError.required(path.child('level')));
  const isSet = (name: string): boolean => Array.isArray(rule[name]) && rule[name].length > 0;
  if (isSet('nonResourceURLs') && (isSet('resources') || isSet('namespaces'))) {
    const at = path.child('nonResourceURLs');
    errors.push(fieldError.invalid(at, rule['nonResourceURLs'], 'rules cannot apply to both regular resources and non-resource URLs'));
  }
  return errors;
}

function validateResources(entry: JsonObject, path: FieldPath): FieldError[] {
  const errors = fields(entry, resourceFields, (name) => path.child(name));
  const count = (name: string): number => (Array.isArray(entry[name]) ? entry[name].length : 0);
  if (count('resourceNames') > 0 && count('resources') === 0) {
    const at = path.child('resourceNames');
    errors.push(fieldError.invalid(at, entry['resourceNames'], 'using resourceNames requires at least one resource'));
  }
  return errors;
}

function validateUrls(value: Json, path: FieldPath): FieldError[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((url, index) => {
    if (typeof url !== 'string' || url === '*') return [];
    const at = path.index(index);
    const errors: FieldError[] = [];
    if (!url.startsWith('/')) errors.push(fieldError.invalid(at, url, "non-resource URL rules must begin with a '/' character"));
    if (url.slice(0, -1).includes('*')) {
      errors.push(fieldError.invalid(at, url, "non-resource URL wildcards '*' must be the final character of the rule"));
    }
    return errors;
  });
}
