import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  numberOf,
  type Parts,
  textOf,
  textsOf,
  validateLabelSelector,
} from '@capstan/machinery';
import { applyDefaults, type Defaults } from '../shared/defaulting.ts';
import { errorsWithinReach } from '../shared/effort.ts';
import { repeats } from '../shared/repeats.ts';
import type { Strategy } from '../strategy.ts';
import { clientConfigErrors } from './client-config.ts';
import { matchConditionErrors } from './conditions.ts';
import { choiceErrors, failurePolicies, matchPolicies, ruleErrors } from './rules.ts';

const reviewVersions = ['v1', 'v1beta1'];
const sideEffects = ['None', 'NoneOnDryRun'];
const reinvocationPolicies = ['IfNeeded', 'Never'];
const webhooks = FieldPath.of('webhooks');

const webhookDefaults: Defaults = {
  setOptional: { failurePolicy: 'Fail', matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {}, timeoutSeconds: 10 },
  each: { rules: { setOptional: { scope: '*' } } },
  within: { clientConfig: { within: { service: { set: { port: 443 } } } } },
};

const mutatingDefaults: Defaults = { ...webhookDefaults, setOptional: { ...webhookDefaults.setOptional, reinvocationPolicy: 'Never' } };

/** A webhook's name needs at least three segments, such as `name.example.com`. */
function nameErrors(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [fieldError.required(path)];
  const wrong = names.dns1123Subdomain(name);
  if (wrong.length > 0) return [fieldError.invalid(path, name, wrong.join(','))];
  if (name.split('.').length >= 3) return [];
  return [fieldError.invalid(path, name, 'should be a domain with at least three segments separated by dots')];
}

function reviewVersionErrors(versions: readonly string[], path: FieldPath): FieldError[] {
  if (versions.length === 0) return [fieldError.required(path, `must specify one of ${reviewVersions.join(', ')}`)];
  const errors: FieldError[] = [];
  const isRepeated = repeats<string>();
  versions.forEach((version, index) => {
    if (isRepeated(version)) errors.push(fieldError.invalid(path.index(index), version, 'duplicate version'));
    else for (const message of names.dns1035Label(version)) errors.push(fieldError.invalid(path.index(index), version, message));
  });
  if (!versions.some((version) => reviewVersions.includes(version))) {
    errors.push(fieldError.invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`));
  }
  return errors;
}

function sideEffectErrors(value: unknown, path: FieldPath): FieldError[] {
  if (isAbsent(value)) return [fieldError.required(path, `must specify one of ${sideEffects.join(', ')}`)];
  return choiceErrors(value, sideEffects, path);
}

function* webhookErrors(hook: Fields, path: FieldPath): Parts<FieldError[]> {
  const timeout = hook['timeoutSeconds'];
  const errors = nameErrors(textOf(hook['name']), path.child('name'));
  itemsOf(hook['rules']).forEach((rule, index) => {
    errors.push(...ruleErrors(rule, path.child('rules').index(index)));
  });
  errors.push(...choiceErrors(hook['failurePolicy'], failurePolicies, path.child('failurePolicy')));
  errors.push(...choiceErrors(hook['matchPolicy'], matchPolicies, path.child('matchPolicy')));
  errors.push(...sideEffectErrors(hook['sideEffects'], path.child('sideEffects')));
  if (typeof timeout === 'number' && (timeout > 30 || timeout < 1)) {
    errors.push(fieldError.invalid(path.child('timeoutSeconds'), numberOf(timeout), 'the timeout value must be between 1 and 30 seconds'));
  }
  errors.push(...validateLabelSelector(maybeFields(hook['namespaceSelector']), path.child('namespaceSelector')));
  errors.push(...validateLabelSelector(maybeFields(hook['objectSelector']), path.child('objectSelector')));
  errors.push(...choiceErrors(hook['reinvocationPolicy'], reinvocationPolicies, path.child('reinvocationPolicy')));
  errors.push(...clientConfigErrors(fieldsOf(hook['clientConfig']), path.child('clientConfig')));
  errors.push(...(yield* matchConditionErrors(hook['matchConditions'], path.child('matchConditions'))));
  return errors;
}

function* configurationErrors(object: KubeObject): Parts<FieldError[]> {
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, hook] of itemsOf(object['webhooks']).entries()) {
    yield;
    const path = webhooks.index(index);
    const name = textOf(hook['name']);
    errors.push(...(yield* webhookErrors(hook, path)));
    errors.push(...reviewVersionErrors(textsOf(hook['admissionReviewVersions']), path.child('admissionReviewVersions')));
    if (name !== '' && seen.has(name)) errors.push(fieldError.duplicate(path.child('name'), name));
    seen.add(name);
  }
  return errors;
}

function configuration(defaults: Defaults): Strategy {
  return {
    generation: true,
    requireResourceVersion: true,
    default: (object) => applyDefaults(object, { each: { webhooks: defaults } }),
    validateObjectInParts: (object) => errorsWithinReach(webhooks, configurationErrors(object)),
  };
}

export const validatingwebhookconfigurations = configuration(webhookDefaults);
export const mutatingwebhookconfigurations = configuration(mutatingDefaults);
