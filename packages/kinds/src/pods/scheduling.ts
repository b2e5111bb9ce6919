import {
  type FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type LabelSelectorObject,
  maybeFields,
  names,
  numberOf,
  stringMapOf,
  textOf,
  textsOf,
  validateLabelSelector,
  validateLabels,
} from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { checkSpreadScope } from './pod-details-validation.ts';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const requiredTerms = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferredTerms = 'preferredDuringSchedulingIgnoredDuringExecution';

function checkEffect(found: Findings, at: FieldPath, effect: unknown): void {
  if (!effects.includes(effect as string)) found.notSupported(at, effect, effects);
}

export function checkTolerations(found: Findings, at: FieldPath, tolerations: readonly Fields[]): void {
  for (const [index, toleration] of tolerations.entries()) {
    const path = at.index(index);
    const key = textOf(toleration['key']);
    const operator = textOf(toleration['operator']);
    const value = textOf(toleration['value']);
    const effect = textOf(toleration['effect']);
    if (key !== '') found.invalid(path.child('key'), key, names.qualifiedName(key));
    else if (operator !== 'Exists') {
      found.invalid(
        path.child('operator'),
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    }
    if (!isAbsent(toleration['tolerationSeconds']) && effect !== 'NoExecute') {
      found.invalid(path.child('effect'), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
    if (operator === 'Equal' || operator === '') {
      const problems = names.labelValue(value);
      if (problems.length > 0) found.invalid(path.child('operator'), value, problems.join(';'));
    } else if (operator === 'Exists') {
      if (value !== '') found.invalid(path.child('operator'), value, "value must be empty when `operator` is 'Exists'");
    } else found.notSupported(path.child('operator'), operator, ['Equal', 'Exists']);
    if (effect !== '') checkEffect(found, path.child('effect'), effect);
  }
}

/** The form in which messages show a taint. */
function shownTaint(taint: Fields): Fields {
  return { Key: taint['key'], Value: textOf(taint['value']), Effect: taint['effect'], TimeAdded: taint['timeAdded'] ?? null };
}

export function checkTaints(found: Findings, at: FieldPath, taints: readonly Fields[]): void {
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    const path = at.index(index);
    const key = textOf(taint['key']);
    found.invalid(path.child('key'), key, names.qualifiedName(key));
    const problems = names.labelValue(textOf(taint['value']));
    if (problems.length > 0) found.invalid(path.child('value'), taint['value'], problems.join(';'));
    if (textOf(taint['effect']) === '') found.required(path.child('effect'));
    else checkEffect(found, path.child('effect'), taint['effect']);
    const pair = `${textOf(taint['effect'])}/${key}`;
    if (seen.has(pair)) found.duplicate(path, shownTaint(taint), 'taints must be unique by key and effect pair');
    seen.add(pair);
  }
}

function checkNodeRequirement(found: Findings, at: FieldPath, requirement: Readonly<Fields>): void {
  const values = textsOf(requirement['values']);
  switch (requirement['operator']) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) found.required(at.child('values'), "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) found.forbidden(at.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) found.required(at.child('values'), "must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    default:
      found.invalid(at.child('operator'), textOf(requirement['operator']), 'not a valid selector operator');
  }
  const key = textOf(requirement['key']);
  found.invalid(at.child('key'), key, names.qualifiedName(key));
  for (const [index, value] of values.entries()) found.invalid(at.child('values').index(index), value, names.labelValue(value));
}

function checkFieldRequirement(found: Findings, at: FieldPath, requirement: Readonly<Fields>): void {
  const values = textsOf(requirement['values']);
  const { operator, key } = requirement;
  if (operator !== 'In' && operator !== 'NotIn') found.invalid(at.child('operator'), textOf(operator), 'not a valid selector operator');
  else if (values.length !== 1) {
    found.required(at.child('values'), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  if (key !== 'metadata.name') found.invalid(at.child('key'), textOf(key), 'not a valid field selector key');
  else for (const [index, value] of values.entries()) found.invalid(at.child('values').index(index), value, names.dns1123Subdomain(value));
}

function checkNodeTerm(found: Findings, at: FieldPath, term: Readonly<Fields>): void {
  for (const [index, requirement] of itemsOf(term['matchExpressions']).entries()) {
    checkNodeRequirement(found, at.child('matchExpressions').index(index), requirement);
  }
  for (const [index, requirement] of itemsOf(term['matchFields']).entries()) {
    checkFieldRequirement(found, at.child('matchFields').index(index), requirement);
  }
}

export function checkNodeSelector(found: Findings, at: FieldPath, selector: Readonly<Fields>): void {
  const terms = itemsOf(selector['nodeSelectorTerms']);
  const path = at.child('nodeSelectorTerms');
  if (terms.length === 0) found.required(path, 'must have at least one node selector term');
  for (const [index, term] of terms.entries()) checkNodeTerm(found, path.index(index), term);
}

function checkWeight(found: Findings, at: FieldPath, value: unknown): void {
  const weight = numberOf(value);
  if (weight <= 0 || weight > 100) found.invalid(at, weight, 'must be in the range 1-100');
}

function checkPodTerm(found: Findings, at: FieldPath, term: Readonly<Fields>): void {
  for (const field of ['labelSelector', 'namespaceSelector']) found.add(validateLabelSelector(selectorIn(term, field), at.child(field)));
  for (const namespace of textsOf(term['namespaces'])) found.invalid(at.child('namespace'), namespace, names.dns1123Label(namespace));
  for (const field of ['matchLabelKeys', 'mismatchLabelKeys'])
    checkLabelKeys(found, at.child(field), { keys: textsOf(term[field]), selector: maybeFields(term['labelSelector']) });
  const key = textOf(term['topologyKey']);
  if (key === '') found.required(at.child('topologyKey'), 'can not be empty');
  found.invalid(at.child('topologyKey'), key, names.qualifiedName(key));
}

/** Validates label keys whose values in the pod are added to a selector. */
function checkLabelKeys(
  found: Findings,
  at: FieldPath,
  { keys, selector }: { keys: readonly string[]; selector: Fields | undefined },
): void {
  if (keys.length > 0 && selector === undefined) found.forbidden(at, 'must not be specified when labelSelector is not set');
  else for (const [index, key] of keys.entries()) found.invalid(at.index(index), key, names.qualifiedName(key));
}

function selectorIn(fields: Readonly<Fields>, name: string): LabelSelectorObject | undefined {
  return maybeFields(fields[name]);
}

function checkPodAffinity(found: Findings, at: FieldPath, affinity: Readonly<Fields>): void {
  for (const [index, term] of itemsOf(affinity[requiredTerms]).entries()) checkPodTerm(found, at.child(requiredTerms).index(index), term);
  for (const [index, term] of itemsOf(affinity[preferredTerms]).entries()) {
    const path = at.child(preferredTerms).index(index);
    checkWeight(found, path.child('weight'), term['weight']);
    checkPodTerm(found, path.child('podAffinityTerm'), fieldsOf(term['podAffinityTerm']));
  }
}

export function checkAffinity(found: Findings, at: FieldPath, affinity: Readonly<Fields>): void {
  const node = fieldsOf(affinity['nodeAffinity']);
  const path = at.child('nodeAffinity');
  const wanted = maybeFields(node[requiredTerms]);
  if (wanted !== undefined) checkNodeSelector(found, path.child(requiredTerms), wanted);
  for (const [index, term] of itemsOf(node[preferredTerms]).entries()) {
    const preferred = path.child(preferredTerms).index(index);
    checkWeight(found, preferred.child('weight'), term['weight']);
    checkNodeTerm(found, preferred.child('preference'), fieldsOf(term['preference']));
  }
  checkPodAffinity(found, at.child('podAffinity'), fieldsOf(affinity['podAffinity']));
  checkPodAffinity(found, at.child('podAntiAffinity'), fieldsOf(affinity['podAntiAffinity']));
}

/** Constraints with the same key are equal for the scheduler. */
function spreadKey({ topologyKey, whenUnsatisfiable }: Fields): string {
  return JSON.stringify([topologyKey, whenUnsatisfiable]);
}

export function checkSpread(found: Findings, at: FieldPath, constraints: readonly Fields[]): void {
  const last = new Map(constraints.map((constraint, index) => [spreadKey(constraint), index]));
  for (const [index, constraint] of constraints.entries()) {
    const path = at.index(index);
    const { topologyKey, whenUnsatisfiable, minDomains } = constraint;
    if (numberOf(constraint['maxSkew']) <= 0)
      found.invalid(path.child('maxSkew'), numberOf(constraint['maxSkew']), 'must be greater than zero');
    if (textOf(topologyKey) === '') found.required(path.child('topologyKey'), 'can not be empty');
    const actions = ['DoNotSchedule', 'ScheduleAnyway'];
    if (!actions.includes(textOf(whenUnsatisfiable)))
      found.notSupported(path.child('whenUnsatisfiable'), textOf(whenUnsatisfiable), actions);
    if (last.get(spreadKey(constraint))! > index) {
      found.duplicate(path.child('{topologyKey, whenUnsatisfiable}'), `{${textOf(topologyKey)}, ${textOf(whenUnsatisfiable)}}`);
    }
    if (!isAbsent(minDomains) && numberOf(minDomains) <= 0)
      found.invalid(path.child('minDomains'), minDomains, 'must be greater than zero');
    if (!isAbsent(minDomains) && whenUnsatisfiable !== 'DoNotSchedule') {
      const rule = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${textOf(whenUnsatisfiable)}`;
      found.invalid(path.child('minDomains'), minDomains, rule);
    }
    checkSpreadScope(found, path, constraint);
    found.add(validateLabelSelector(selectorIn(constraint, 'labelSelector'), path.child('labelSelector')));
  }
}

export function checkNodeLabels(found: Findings, at: FieldPath, selector: unknown): void {
  found.add(validateLabels(stringMapOf(selector), at));
}
