import { type FieldError, forbidden, invalid, required } from '../field/error.ts';
import type { FieldPath } from '../field/path.ts';
import { labelValue, qualifiedName } from '../meta/names.ts';
import { validateLabels } from '../meta/validate.ts';
import { everything, type LabelRequirement, type LabelSelector, nothing, selectorOf } from './label.ts';
import type { LabelSelectorObject } from './selector-object.ts';

/** An absent selector selects nothing, an empty one everything. The object must be validated; an unknown operator selects nothing. */
export function selectorOfObject(selector: LabelSelectorObject | null | undefined): LabelSelector {
  if (selector === null || selector === undefined) return nothing;
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) requirements.push({ key, operator: '=', value });
  for (const { key = '', operator, values = [] } of selector.matchExpressions ?? []) {
    if (operator === 'In' || operator === 'NotIn') requirements.push({ key, operator: operator === 'In' ? 'in' : 'notin', values });
    else if (operator === 'Exists' || operator === 'DoesNotExist')
      requirements.push({ key, operator: operator === 'Exists' ? 'exists' : '!' });
    else return nothing;
  }
  return requirements.length === 0 ? everything : selectorOf(requirements);
}

export interface SelectorRules {
  /** Accept values that no label can have, because older versions stored them. */
  readonly allowInvalidValues?: boolean;
}

export function validateLabelSelector(selector: LabelSelectorObject | undefined, path: FieldPath, rules: SelectorRules = {}): FieldError[] {
  if (selector === undefined) return [];
  const errors = validateLabels(selector.matchLabels ?? {}, path.child('matchLabels'));
  selector.matchExpressions?.forEach((expression, index) => {
    const at = path.child('matchExpressions').index(index);
    const { key = '', operator = '', values = [] } = expression;
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) errors.push(required(at.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        errors.push(forbidden(at.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    } else errors.push(invalid(at.child('operator'), operator, 'not a valid selector operator'));
    for (const message of qualifiedName(key)) errors.push(invalid(at.child('key'), key, message));
    if (rules.allowInvalidValues === true) return;
    values.forEach((value, valueIndex) => {
      for (const message of labelValue(value)) errors.push(invalid(at.child('values').index(valueIndex), value, message));
    });
  });
  return errors;
}
