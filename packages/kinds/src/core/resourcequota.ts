import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldImmutable,
  fieldsOf,
  itemsOf,
  type KubeObject,
  maybeFields,
  misplacedQuotaWarning,
  parseQuantity,
  printQuantity,
  scaledValue,
  stringMapOf,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { keepPart, sameValue } from '../parts.ts';
import type { Strategy, StrategyContext } from '../strategy.ts';
import { isInteger, isStandardQuotaResource, validateQuotaResourceName } from './resource-names.ts';

const podScopes = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort', 'CrossNamespacePodAffinity'];
const scopes = new Set([...podScopes, 'PriorityClass', 'VolumeAttributesClass']);
const podResources = new Set(['pods', 'cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory']);
const volumeResources = new Set(['persistentvolumeclaims', 'requests.storage']);
const exclusive: readonly (readonly [string, string])[] = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];

function fits(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods';
  if (scope === 'VolumeAttributesClass') return volumeResources.has(resource);
  return !scopes.has(scope) || podResources.has(resource);
}

function amountErrors(amounts: unknown, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, text] of Object.entries(stringMapOf(amounts))) {
    const at = path.key(name);
    const quantity = parseQuantity(text);
    errors.push(...validateQuotaResourceName(name, at));
    if (quantity.value < 0n) errors.push(fieldError.invalid(at, printQuantity(quantity), 'must be greater than or equal to 0'));
    if (isInteger(name) && scaledValue(quantity, -3) % 1000n !== 0n) errors.push(fieldError.invalid(at, text, 'must be an integer'));
  }
  return errors;
}

function misfits(spec: Readonly<Fields>, scope: string): string[] {
  return Object.keys(stringMapOf(spec['hard'])).filter((resource) => isStandardQuotaResource(resource) && !fits(scope, resource));
}

function conflicts(present: ReadonlySet<string>): boolean[] {
  return exclusive.map(([one, other]) => present.has(one) && present.has(other)).filter(Boolean);
}

function scopeErrors(spec: Readonly<Fields>): FieldError[] {
  const given = textsOf(spec['scopes']);
  const path = FieldPath.of('spec', 'scopes');
  const errors: FieldError[] = [];
  for (const scope of given) {
    if (!scopes.has(scope)) errors.push(fieldError.invalid(path, given, 'unsupported scope'));
    for (const _ of misfits(spec, scope)) errors.push(fieldError.invalid(path, given, 'unsupported scope applied to resource'));
  }
  for (const _ of conflicts(new Set(given))) errors.push(fieldError.invalid(path, given, 'conflicting scopes'));
  return errors;
}

const existsOnly =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

function selectorErrors(spec: Readonly<Fields>): FieldError[] {
  const selector = maybeFields(spec['scopeSelector']);
  if (selector === undefined) return [];
  const path = FieldPath.of('spec', 'scopeSelector', 'matchExpressions');
  const errors: FieldError[] = [];
  const present = new Set<string>();
  const printed = printedSelector(selector);
  for (const expression of itemsOf(selector['matchExpressions'])) {
    const scope = textOf(expression['scopeName']);
    const operator = textOf(expression['operator']);
    const values = textsOf(expression['values']);
    present.add(scope);
    if (!scopes.has(scope)) errors.push(fieldError.invalid(path.child('scopeName'), scope, 'unsupported scope'));
    for (const _ of misfits(spec, scope)) errors.push(fieldError.invalid(path, printed, 'unsupported scope applied to resource'));
    if (podScopes.includes(scope) && operator !== 'Exists') errors.push(fieldError.invalid(path.child('operator'), operator, existsOnly));
    errors.push(...operatorErrors(operator, values, path));
  }
  for (const _ of conflicts(present)) errors.push(fieldError.invalid(path, spec['scopes'], 'conflicting scopes'));
  return errors;
}

function operatorErrors(operator: string, values: readonly string[], path: FieldPath): FieldError[] {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length > 0) return [];
    return [fieldError.required(path.child('values'), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")];
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length === 0) return [];
    const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    return [fieldError.invalid(path.child('values'), values, detail)];
  }
  return [fieldError.invalid(path.child('operator'), operator, 'not a valid selector operator')];
}

/** Converts a selector to the form in which Kubernetes prints it: with the field names of its internal type. */
function printedSelector(selector: Fields): Fields {
  return {
    MatchExpressions: itemsOf(selector['matchExpressions']).map((expression) => ({
      ScopeName: textOf(expression['scopeName']),
      Operator: textOf(expression['operator']),
      Values: expression['values'] ?? null,
    })),
  };
}

function statusErrors(object: KubeObject): FieldError[] {
  const status = fieldsOf(object['status']);
  return [...amountErrors(status['hard'], FieldPath.of('status', 'hard')), ...amountErrors(status['used'], FieldPath.of('status', 'used'))];
}

function warnMisplaced(quota: KubeObject, { warn }: StrategyContext): void {
  const warning = misplacedQuotaWarning(quota);
  if (warning !== undefined) warn(warning);
}

export const resourcequotas: Strategy = {
  prepareForCreate(object, context) {
    object['status'] = {};
    warnMisplaced(object, context);
  },
  prepareForUpdate(object, old, context) {
    keepPart(object, old, 'status');
    warnMisplaced(object, context);
  },
  validate(object) {
    const spec = fieldsOf(object['spec']);
    return [...amountErrors(spec['hard'], FieldPath.of('spec', 'hard')), ...scopeErrors(spec), ...selectorErrors(spec)];
  },
  validateUpdate(object, old) {
    const given = textsOf(fieldsOf(object['spec'])['scopes']);
    const before = textsOf(fieldsOf(old['spec'])['scopes']);
    if (sameValue([...new Set(given)].sort(), [...new Set(before)].sort())) return [];
    return [fieldError.invalid(FieldPath.of('spec', 'scopes'), given.length === 0 ? null : given, fieldImmutable)];
  },
  returnDeletedObject: true,
  status: {
    prepareForUpdate: (object, old) => keepPart(object, old, 'spec'),
    validateUpdate: statusErrors,
  },
};
