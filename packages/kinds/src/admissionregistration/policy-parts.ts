import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  isAbsent,
  itemsOf,
  maybeFields,
  names,
  textOf,
  validateLabelSelector,
} from '@capstan/machinery';
import type { Defaults } from '../shared/defaulting.ts';
import { expressionErrors } from './expressions/errors.ts';
import type { Variables } from './expressions/variables.ts';
import { choiceErrors, matchPolicies, namedRuleErrors } from './rules.ts';

/** Shared by validating and mutating policies and their bindings. */

export const matchDefaults: Defaults = {
  setOptional: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} },
  each: { resourceRules: { setOptional: { scope: '*' } }, excludeResourceRules: { setOptional: { scope: '*' } } },
};

export function requiredChoice(value: unknown, allowed: readonly string[], path: FieldPath): FieldError[] {
  return isAbsent(value) ? [fieldError.required(path)] : choiceErrors(value, allowed, path);
}

function requiredSelector(value: unknown, path: FieldPath): FieldError[] {
  return isAbsent(value) ? [fieldError.required(path)] : validateLabelSelector(maybeFields(value), path);
}

export function matchResourceErrors(match: Fields, path: FieldPath): FieldError[] {
  const errors = requiredChoice(match['matchPolicy'], matchPolicies, path.child('matchPolicy'));
  for (const name of ['namespaceSelector', 'objectSelector']) errors.push(...requiredSelector(match[name], path.child(name)));
  for (const name of ['resourceRules', 'excludeResourceRules']) {
    itemsOf(match[name]).forEach((rule, index) => {
      errors.push(...namedRuleErrors(rule, path.child(name).index(index)));
    });
  }
  return errors;
}

export function paramKindErrors(kind: Fields, path: FieldPath): FieldError[] {
  return [
    ...apiVersionErrors(textOf(kind['apiVersion']), path.child('apiVersion')),
    ...kindErrors(textOf(kind['kind']), path.child('kind')),
  ];
}

function apiVersionErrors(apiVersion: string, path: FieldPath): FieldError[] {
  if (apiVersion === '') return [fieldError.required(path)];
  const parts = apiVersion.split('/');
  if (parts.length > 2) return [fieldError.invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const version = parts.at(-1)!;
  const group = parts.length === 2 ? parts[0]! : '';
  const errors: FieldError[] = [];
  const wrongGroup = group === '' ? [] : names.dns1123Subdomain(group);
  if (wrongGroup.length > 0) errors.push(fieldError.invalid(path, group, wrongGroup.join(',')));
  const wrongVersion = names.dns1035Label(version);
  if (version === '') errors.push(fieldError.invalid(path, apiVersion, 'version must be specified'));
  else if (wrongVersion.length > 0) errors.push(fieldError.invalid(path, version, wrongVersion.join(',')));
  return errors;
}

function kindErrors(kind: string, path: FieldPath): FieldError[] {
  if (kind === '') return [fieldError.required(path)];
  const wrong = names.dns1035Label(kind.toLowerCase());
  if (wrong.length === 0) return [];
  return [fieldError.invalid(path, kind, `may have mixed case, but should otherwise match: ${wrong.join(',')}`)];
}

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

export function variableErrors(variable: Fields, path: FieldPath, variables: Variables): FieldError[] {
  const name = textOf(variable['name']);
  const errors: FieldError[] = [];
  if (name.trim() === '') errors.push(fieldError.required(path.child('name'), 'name is not specified'));
  else if (!identifier.test(name) || reserved.has(name))
    errors.push(fieldError.invalid(path.child('name'), name, 'must be a valid CEL identifier'));
  const expression = textOf(variable['expression']);
  if (expression.trim() === '') errors.push(fieldError.required(path.child('expression'), 'expression is not specified'));
  else errors.push(...expressionErrors(variables.add(name, expression), path.child('expression')));
  return errors;
}

function paramRefErrors(reference: Fields, path: FieldPath): FieldError[] {
  const name = textOf(reference['name']);
  const selector = maybeFields(reference['selector']);
  const notFound = textOf(reference['parameterNotFoundAction']);
  const exclusive = 'name and selector are mutually exclusive';
  const errors: FieldError[] = [];
  for (const message of names.pathSegment(name)) errors.push(fieldError.invalid(path.child('name'), name, message));
  if (name !== '' && selector !== undefined) errors.push(fieldError.forbidden(path.child('name'), exclusive));
  if (selector !== undefined) errors.push(...validateLabelSelector(selector, path.child('selector')));
  if (name !== '' && selector !== undefined) errors.push(fieldError.forbidden(path.child('selector'), exclusive));
  if (name === '' && selector === undefined) errors.push(fieldError.required(path, 'one of name or selector must be specified'));
  if (notFound === '') errors.push(fieldError.required(path.child('parameterNotFoundAction')));
  else errors.push(...choiceErrors(notFound, ['Deny', 'Allow'], path.child('parameterNotFoundAction')));
  return errors;
}

const bindingSpec = FieldPath.of('spec');

/** Validates the policy and parameters of a binding, for both kinds of policy. */
export function bindingErrors(binding: Fields): FieldError[] {
  const policy = textOf(binding['policyName']);
  const reference = maybeFields(binding['paramRef']);
  const path = bindingSpec.child('policyName');
  const errors =
    policy === ''
      ? [fieldError.required(path)]
      : names.dns1123Subdomain(policy).map((message) => fieldError.invalid(path, policy, message));
  return reference === undefined ? errors : [...errors, ...paramRefErrors(reference, bindingSpec.child('paramRef'))];
}
