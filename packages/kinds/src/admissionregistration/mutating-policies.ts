import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  itemsOf,
  type KubeObject,
  maybeFields,
  type Parts,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { applyDefaults, made } from '../shared/defaulting.ts';
import { errorsWithinReach } from '../shared/effort.ts';
import type { Strategy } from '../strategy.ts';
import { matchConditionErrors } from './conditions.ts';
import type { Known } from './expressions/declarations.ts';
import { expressionErrors } from './expressions/errors.ts';
import { compilePatch, type PatchType } from './expressions/expression.ts';
import { Variables } from './expressions/variables.ts';
import { bindingErrors, matchDefaults, matchResourceErrors, paramKindErrors, requiredChoice, variableErrors } from './policy-parts.ts';
import { failurePolicies } from './rules.ts';

const spec = FieldPath.of('spec');
const reinvocationPolicies = ['IfNeeded', 'Never'];
/** No DELETE: a deleted object cannot be mutated. */
const operations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const patchTypes: readonly PatchType[] = ['ApplyConfiguration', 'JSONPatch'];
const expressionFields = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const;

function operationErrors(match: Fields, path: FieldPath): FieldError[] {
  const given = itemsOf(match['resourceRules']).flatMap((rule) => textsOf(rule['operations']));
  const wrong = given.filter((operation) => !operations.includes(operation));
  return wrong.map((operation) => fieldError.notSupported(path.child('resourceRules', 'operations'), operation, operations));
}

function constraintErrors(match: Fields | undefined): FieldError[] {
  const path = spec.child('matchConstraints');
  if (match === undefined) return [fieldError.required(path)];
  const errors = matchResourceErrors(match, path);
  if (itemsOf(match['resourceRules']).length === 0) errors.push(fieldError.required(path.child('resourceRules')));
  return [...errors, ...operationErrors(match, path)];
}

function mutationErrors(mutation: Fields, path: FieldPath, variables: Variables): FieldError[] {
  const type = textOf(mutation['patchType']);
  if (type === '') return [fieldError.required(path.child('patchType'))];
  if (type !== 'ApplyConfiguration' && type !== 'JSONPatch') return [fieldError.notSupported(path.child('patchType'), type, patchTypes)];
  const own = expressionFields[type];
  const other = expressionFields[type === 'JSONPatch' ? 'ApplyConfiguration' : 'JSONPatch'];
  const errors = patchErrors(maybeFields(mutation[own]), path.child(own), { type, variables });
  if (maybeFields(mutation[other]) !== undefined) {
    errors.push(fieldError.invalid(path.child(other), `{${other}}`, `must not be specified when patchType is ${type}`));
  }
  return errors;
}

function patchErrors(
  patch: Fields | undefined,
  path: FieldPath,
  { type, variables }: { type: PatchType; variables: Variables },
): FieldError[] {
  if (patch === undefined) return [fieldError.required(path, `must be specified when patchType is ${type}`)];
  const expression = textOf(patch['expression']).trim();
  if (expression === '') return [fieldError.required(path.child('expression'))];
  return expressionErrors(compilePatch(expression, variables.declarations(), type), path.child('expression'));
}

function* policyErrors(object: KubeObject): Parts<FieldError[]> {
  const policy = fieldsOf(object['spec']);
  const paramKind = maybeFields(policy['paramKind']);
  const known: Known = { params: paramKind !== undefined, authorizer: true };
  const variables = new Variables(known);
  const errors = requiredChoice(policy['failurePolicy'], failurePolicies, spec.child('failurePolicy'));
  if (paramKind !== undefined) errors.push(...paramKindErrors(paramKind, spec.child('paramKind')));
  errors.push(...constraintErrors(maybeFields(policy['matchConstraints'])));
  errors.push(...(yield* matchConditionErrors(policy['matchConditions'], spec.child('matchConditions'), known.params)));
  for (const [index, variable] of itemsOf(policy['variables']).entries()) {
    yield;
    errors.push(...variableErrors(variable, spec.child('variables').index(index), variables));
  }
  const mutations = itemsOf(policy['mutations']);
  if (mutations.length === 0) errors.push(fieldError.required(spec.child('mutations'), 'mutations must contain at least one item'));
  for (const [index, mutation] of mutations.entries()) {
    yield;
    errors.push(...mutationErrors(mutation, spec.child('mutations').index(index), variables));
  }
  return [...errors, ...requiredChoice(policy['reinvocationPolicy'], reinvocationPolicies, spec.child('reinvocationPolicy'))];
}

export const mutatingadmissionpolicies: Strategy = {
  generation: true,
  requireResourceVersion: true,
  default(object) {
    applyDefaults(made(object, 'spec'), { set: { failurePolicy: 'Fail' }, within: { matchConstraints: matchDefaults } });
  },
  validateObjectInParts: (object) => errorsWithinReach(spec, policyErrors(object)),
};

export const mutatingadmissionpolicybindings: Strategy = {
  generation: true,
  requireResourceVersion: true,
  default: (object) => applyDefaults(object, { within: { spec: { within: { matchResources: matchDefaults } } } }),
  validate(object) {
    const binding = fieldsOf(object['spec']);
    const match = maybeFields(binding['matchResources']);
    const errors = bindingErrors(binding);
    if (match === undefined) return errors;
    return [
      ...errors,
      ...matchResourceErrors(match, spec.child('matchResources')),
      ...operationErrors(match, spec.child('matchResources')),
    ];
  },
};
