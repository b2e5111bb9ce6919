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
  type Parts,
  textOf,
  textsOf,
  validateConditions,
} from '@capstan/machinery';
import { keepPart } from '../parts.ts';
import { applyDefaults, made } from '../shared/defaulting.ts';
import { errorsWithinReach } from '../shared/effort.ts';
import { repeats } from '../shared/repeats.ts';
import { keepMetadata } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { matchConditionErrors } from './conditions.ts';
import type { Known } from './expressions/declarations.ts';
import { expressionErrors } from './expressions/errors.ts';
import { annotation as annotationResult, compileExpression, condition, message as messageResult } from './expressions/expression.ts';
import { Variables } from './expressions/variables.ts';
import { bindingErrors, matchDefaults, matchResourceErrors, paramKindErrors, requiredChoice, variableErrors } from './policy-parts.ts';
import { choiceErrors, failurePolicies } from './rules.ts';

const spec = FieldPath.of('spec');
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const actions = ['Audit', 'Deny', 'Warn'];
const annotationLimit = 20;
const annotationExpressionLimit = 5 * 1024;

interface Expressions {
  readonly variables: Variables;
  readonly known: Known;
}

function validationErrors(validation: Fields, path: FieldPath, { variables, known }: Expressions): FieldError[] {
  const errors: FieldError[] = [];
  const message = textOf(validation['message']);
  const expression = textOf(validation['expression']);
  const messageText = textOf(validation['messageExpression']);
  if (expression.trim() === '') errors.push(fieldError.required(path.child('expression'), 'expression is not specified'));
  else errors.push(...expressionErrors(compileExpression(expression, variables.declarations(), condition), path.child('expression')));
  if (messageText !== '' && messageText.trim() === '') {
    errors.push(fieldError.invalid(path.child('messageExpression'), messageText, 'must be non-empty if specified'));
  } else if (messageText !== '') {
    const declarations = variables.declarations({ ...known, authorizer: false });
    errors.push(...expressionErrors(compileExpression(messageText, declarations, messageResult), path.child('messageExpression')));
  }
  if (message !== '' && message.trim() === '')
    errors.push(fieldError.invalid(path.child('message'), message, 'must be non-empty if specified'));
  else if (/[\n\r]/.test(message.trim())) errors.push(fieldError.invalid(path.child('message'), message, 'must not contain line breaks'));
  errors.push(...choiceErrors(validation['reason'], reasons, path.child('reason')));
  return errors;
}

function annotationErrors(
  annotation: Fields,
  path: FieldPath,
  { policy, variables }: { policy: string; variables: Variables },
): FieldError[] {
  const key = textOf(annotation['key']);
  const expression = textOf(annotation['valueExpression']).trim();
  const at = path.child('valueExpression');
  const errors: FieldError[] = [];
  if (policy === '') errors.push(fieldError.invalid(path.child('key'), key, 'requires metadata.name be non-empty'));
  else
    for (const message of names.qualifiedName(`${policy}/${key}`))
      errors.push(fieldError.invalid(path.child('key'), `${policy}/${key}`, message));
  if (expression === '') errors.push(fieldError.required(at, 'valueExpression is not specified'));
  else if (Buffer.byteLength(expression) > annotationExpressionLimit) {
    errors.push(fieldError.required(at, `must not exceed ${annotationExpressionLimit} bytes in length`));
  } else {
    const compiled = compileExpression(expression, variables.declarations(), annotationResult);
    errors.push(...expressionErrors(compiled, at, textOf(annotation['valueExpression'])));
  }
  return errors;
}

function* annotationListErrors(annotations: readonly Fields[], policy: string, variables: Variables): Parts<FieldError[]> {
  const path = spec.child('auditAnnotations');
  const errors: FieldError[] = [];
  if (annotations.length > annotationLimit) {
    errors.push(fieldError.invalid(path, annotations, `must not have more than ${annotationLimit} auditAnnotations`));
  }
  const seen = new Set<string>();
  for (const [index, annotation] of annotations.entries()) {
    yield;
    const key = textOf(annotation['key']);
    errors.push(...annotationErrors(annotation, path.index(index), { policy, variables }));
    if (seen.has(key)) errors.push(fieldError.duplicate(path.index(index).child('key'), key));
    seen.add(key);
  }
  return errors;
}

function* policyErrors(object: KubeObject): Parts<FieldError[]> {
  const policy = fieldsOf(object['spec']);
  const errors = requiredChoice(policy['failurePolicy'], failurePolicies, spec.child('failurePolicy'));
  const paramKind = maybeFields(policy['paramKind']);
  const match = maybeFields(policy['matchConstraints']);
  const validations = itemsOf(policy['validations']);
  const annotations = itemsOf(policy['auditAnnotations']);
  if (paramKind !== undefined) errors.push(...paramKindErrors(paramKind, spec.child('paramKind')));
  if (match === undefined) errors.push(fieldError.required(spec.child('matchConstraints')));
  else {
    errors.push(...matchResourceErrors(match, spec.child('matchConstraints')));
    if (itemsOf(match['resourceRules']).length === 0) errors.push(fieldError.required(spec.child('matchConstraints', 'resourceRules')));
  }
  errors.push(...(yield* matchConditionErrors(policy['matchConditions'], spec.child('matchConditions'), paramKind !== undefined)));
  const known: Known = { params: paramKind !== undefined, authorizer: true };
  const variables = new Variables(known);
  for (const [index, variable] of itemsOf(policy['variables']).entries()) {
    yield;
    errors.push(...variableErrors(variable, spec.child('variables').index(index), variables));
  }
  if (validations.length === 0 && annotations.length === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item';
    errors.push(fieldError.required(spec.child('validations'), detail), fieldError.required(spec.child('auditAnnotations'), detail));
  }
  for (const [index, validation] of validations.entries()) {
    yield;
    errors.push(...validationErrors(validation, spec.child('validations').index(index), { variables, known }));
  }
  return [...errors, ...(yield* annotationListErrors(annotations, object.metadata.name ?? '', variables))];
}

function statusErrors(object: KubeObject): FieldError[] {
  const status = fieldsOf(object['status']);
  const path = FieldPath.of('status');
  const errors: FieldError[] = [];
  itemsOf(fieldsOf(status['typeChecking'])['expressionWarnings']).forEach((warning, index) => {
    const at = path.child('typeChecking', 'expressionWarnings').index(index);
    for (const name of ['warning', 'fieldRef']) if (textOf(warning[name]).trim() === '') errors.push(fieldError.required(at.child(name)));
  });
  return [...errors, ...validateConditions(itemsOf(status['conditions']), path.child('conditions'))];
}

export const validatingadmissionpolicies: Strategy = {
  generation: true,
  requireResourceVersion: true,
  default(object) {
    applyDefaults(made(object, 'spec'), { setOptional: { failurePolicy: 'Fail' }, within: { matchConstraints: matchDefaults } });
  },
  prepareForCreate(object) {
    object['status'] = {};
  },
  prepareForUpdate: (object, old) => keepPart(object, old, 'status'),
  validateObjectInParts: (object) => errorsWithinReach(spec, policyErrors(object)),
  resetFields: { main: [['status']], status: [['spec'], ['metadata']] },
  status: {
    prepareForUpdate: (object, old) => {
      keepPart(object, old, 'spec');
      keepMetadata(object, old);
    },
    validateUpdate: statusErrors,
  },
};

function actionErrors(given: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const isRepeated = repeats<string>();
  given.forEach((action, index) => {
    errors.push(...choiceErrors(action, actions, path.index(index)));
    if (isRepeated(action)) errors.push(fieldError.duplicate(path.index(index), action));
  });
  if (given.includes('Deny') && given.includes('Warn')) {
    const why = 'repeating the same validation failure information in the API response and headers serves no purpose';
    errors.push(fieldError.invalid(path, given, `must not contain both Deny and Warn (${why})`));
  }
  if (given.length === 0) errors.push(fieldError.required(path, 'at least one validation action is required'));
  return errors;
}

export const validatingadmissionpolicybindings: Strategy = {
  generation: true,
  requireResourceVersion: true,
  default: (object) => applyDefaults(object, { within: { spec: { within: { matchResources: matchDefaults } } } }),
  validate(object) {
    const binding = fieldsOf(object['spec']);
    const match = maybeFields(binding['matchResources']);
    const errors = bindingErrors(binding);
    if (match !== undefined) errors.push(...matchResourceErrors(match, spec.child('matchResources')));
    return [...errors, ...actionErrors(textsOf(binding['validationActions']), spec.child('validationActions'))];
  },
};
