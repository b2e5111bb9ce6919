import { randomUUID } from 'node:crypto';
import {
  compareQuantities,
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  itemsOf,
  names,
  parseQuantity,
  printQuantity,
  type Quantity,
  scaledValue,
  stringMapOf,
  textOf,
} from '@capstan/machinery';
import type { Strategy } from '../strategy.ts';
import { isOvercommitAllowed, validateContainerResourceName, validateResourceName } from './resource-names.ts';

const standardTypes = new Set(['Pod', 'Container', 'PersistentVolumeClaim']);

/** In a container's item, limits default to the maximum, and requests default to the limit or else the minimum. */
function defaultItem(item: Fields): void {
  if (item['type'] !== 'Container') return;
  const limits = { ...stringMapOf(item['max']), ...stringMapOf(item['default']) };
  const requests = { ...stringMapOf(item['min']), ...limits, ...stringMapOf(item['defaultRequest']) };
  setUnlessEmpty(item, 'default', limits);
  setUnlessEmpty(item, 'defaultRequest', requests);
}

function setUnlessEmpty(item: Fields, name: string, amounts: Record<string, string>): void {
  if (Object.keys(amounts).length > 0) item[name] = amounts;
}

function typeErrors(type: string, path: FieldPath): FieldError[] {
  const wrong = names.qualifiedName(type).map((message) => fieldError.invalid(path, type, message));
  if (wrong.length > 0 || type.includes('/') || standardTypes.has(type)) return wrong;
  return [fieldError.invalid(path, type, 'must be a standard limit type or fully qualified')];
}

type Part = 'min' | 'max' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio';

function itemErrors(item: Fields, path: FieldPath): FieldError[] {
  const type = textOf(item['type']);
  const check = type === 'Pod' || type === 'Container' ? validateContainerResourceName : validateResourceName;
  const errors: FieldError[] = [];
  const parts: Part[] = type === 'Pod' ? ['max', 'min'] : ['max', 'min', 'default', 'defaultRequest'];
  const nameErrors = (part: Part): FieldError[] =>
    Object.keys(stringMapOf(item[part])).flatMap((resource) => check(resource, path.child(part).key(resource)));
  for (const part of parts) errors.push(...nameErrors(part));
  if (type === 'Pod') {
    for (const part of ['default', 'defaultRequest']) {
      if (Object.keys(fieldsOf(item[part])).length > 0)
        errors.push(fieldError.forbidden(path.child(part), "may not be specified when `type` is 'Pod'"));
    }
  }
  if (
    type === 'PersistentVolumeClaim' &&
    !Object.hasOwn(fieldsOf(item['min']), 'storage') &&
    !Object.hasOwn(fieldsOf(item['max']), 'storage')
  ) {
    const detail = 'either minimum or maximum storage value is required, but neither was provided';
    errors.push(fieldError.required(path.child('limits'), detail));
  }
  errors.push(...nameErrors('maxLimitRequestRatio'));
  parts.push('maxLimitRequestRatio');
  const resources = new Set(parts.flatMap((part) => Object.keys(stringMapOf(item[part]))));
  for (const resource of resources) errors.push(...amountErrors(resource, amountsOf(item, resource, parts), path));
  return errors;
}

type Amounts = Partial<Record<Part, Quantity>>;

function amountsOf(item: Fields, resource: string, parts: readonly Part[]): Amounts {
  const amounts: Amounts = {};
  for (const part of parts) {
    const values = stringMapOf(item[part]);
    if (Object.hasOwn(values, resource)) amounts[part] = parseQuantity(values[resource]!);
  }
  return amounts;
}

/**
 * Pairs of amounts where the first may not exceed the second: their names in the message, and the field and value that the message shows.
 */
const orders: readonly { less: Part; more: Part; words: readonly [string, string]; at: Part; shows: Part }[] = [
  { less: 'min', more: 'max', words: ['min value', 'max value'], at: 'min', shows: 'min' },
  { less: 'min', more: 'defaultRequest', words: ['min value', 'default request value'], at: 'defaultRequest', shows: 'defaultRequest' },
  { less: 'defaultRequest', more: 'max', words: ['default request value', 'max value'], at: 'defaultRequest', shows: 'defaultRequest' },
  {
    less: 'defaultRequest',
    more: 'default',
    words: ['default request value', 'default limit value'],
    at: 'defaultRequest',
    shows: 'defaultRequest',
  },
  { less: 'min', more: 'default', words: ['min value', 'default value'], at: 'default', shows: 'min' },
  { less: 'default', more: 'max', words: ['default value', 'max value'], at: 'default', shows: 'max' },
];

function amountErrors(resource: string, amounts: Amounts, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const { less, more, words, at, shows } of orders) {
    const low = amounts[less];
    const high = amounts[more];
    if (low === undefined || high === undefined || compareQuantities(low, high) <= 0) continue;
    const detail = `${words[0]} ${printQuantity(low)} is greater than ${words[1]} ${printQuantity(high)}`;
    errors.push(fieldError.invalid(path.child(at).key(resource), printQuantity(amounts[shows]!), detail));
  }
  errors.push(...ratioErrors(amounts, path.child('maxLimitRequestRatio').key(resource)));
  const { default: limit, defaultRequest: request } = amounts;
  if (!isOvercommitAllowed(resource) && limit !== undefined && request !== undefined && compareQuantities(limit, request) !== 0) {
    const detail = `default value ${printQuantity(limit)} must equal to defaultRequest value ${printQuantity(request)} in ${resource}`;
    errors.push(fieldError.invalid(path.child('defaultRequest').key(resource), printQuantity(request), detail));
  }
  return errors;
}

function ratioErrors({ maxLimitRequestRatio: ratio, min, max }: Amounts, path: FieldPath): FieldError[] {
  if (ratio === undefined) return [];
  const text = printQuantity(ratio);
  const errors: FieldError[] = [];
  if (compareQuantities(ratio, parseQuantity('1')) < 0) errors.push(fieldError.invalid(path, text, `ratio ${text} is less than 1`));
  if (min === undefined || max === undefined) return errors;
  const limit = Number(scaledValue(max, -3)) / Number(scaledValue(min, -3));
  if (Number(scaledValue(ratio, -3)) / 1000 > limit) {
    errors.push(fieldError.invalid(path, text, `ratio ${text} is greater than max/min = ${limit.toFixed(6)}`));
  }
  return errors;
}

export const limitranges: Strategy = {
  createOnUpdate: true,
  default(object) {
    for (const item of itemsOf(fieldsOf(object['spec'])['limits'])) defaultItem(item);
  },
  prepareForCreate(object) {
    object.metadata.name ||= randomUUID();
  },
  validate(object) {
    const path = FieldPath.of('spec', 'limits');
    const errors: FieldError[] = [];
    const seen = new Set<string>();
    itemsOf(fieldsOf(object['spec'])['limits']).forEach((item, index) => {
      const type = textOf(item['type']);
      errors.push(...typeErrors(type, path.index(index).child('type')));
      if (seen.has(type)) errors.push(fieldError.duplicate(path.index(index).child('type'), type));
      seen.add(type);
      errors.push(...itemErrors(item, path.index(index)));
    });
    return errors;
  },
};
