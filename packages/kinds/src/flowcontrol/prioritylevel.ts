import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  type KubeObject,
  maybeFields,
  numberOf,
  textOf,
} from '@capstan/machinery';
import { keepPart, sameValue } from '../parts.ts';
import { applyDefaults, type Defaults } from '../shared/defaulting.ts';
import { keepMetadata } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { conditionErrors } from './conditions.ts';
import { mandatoryPriorityLevels } from './mandatory.ts';

const spec = FieldPath.of('spec');
const preserveZeroAnnotation = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';
const maxQueues = 10_000_000;
const maxHashBits = 60;

const defaults: Defaults = {
  within: {
    spec: {
      within: {
        exempt: { set: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
        limited: {
          set: { nominalConcurrencyShares: 30, lendablePercent: 0 },
          within: { limitResponse: { within: { queuing: { setNumbers: { handSize: 8, queues: 64, queueLengthLimit: 50 } } } } },
        },
      },
    },
  },
};

function shareErrors(level: Fields, path: FieldPath): FieldError[] {
  const shares = numberOf(level['nominalConcurrencyShares']);
  return shares < 0 ? [fieldError.invalid(path.child('nominalConcurrencyShares'), shares, 'must be a non-negative integer')] : [];
}

function lendableErrors(level: Fields, path: FieldPath): FieldError[] {
  const percent = numberOf(level['lendablePercent']);
  if (percent >= 0 && percent <= 100) return [];
  return [fieldError.invalid(path.child('lendablePercent'), percent, 'must be between 0 and 100, inclusive')];
}

function limitedErrors(limited: Fields, path: FieldPath): FieldError[] {
  const borrowing = limited['borrowingLimitPercent'];
  const errors = [
    ...shareErrors(limited, path),
    ...responseErrors(fieldsOf(limited['limitResponse']), path.child('limitResponse')),
    ...lendableErrors(limited, path),
  ];
  if (typeof borrowing === 'number' && borrowing < 0) {
    errors.push(fieldError.invalid(path.child('borrowingLimitPercent'), borrowing, 'if specified, must be a non-negative integer'));
  }
  return errors;
}

function responseErrors(response: Readonly<Fields>, path: FieldPath): FieldError[] {
  const queuing = maybeFields(response['queuing']);
  const at = path.child('queuing');
  switch (response['type']) {
    case 'Reject':
      return queuing === undefined ? [] : [fieldError.forbidden(at, 'must be nil if limited.limitResponse.type is not Limited')];
    case 'Queue':
      if (queuing === undefined) return [fieldError.required(at, 'must not be empty if limited.limitResponse.type is Limited')];
      return queuingErrors(queuing, at);
    default:
      return [fieldError.notSupported(path.child('type'), textOf(response['type']), ['Queue', 'Reject'])];
  }
}

function queuingErrors(queuing: Fields, path: FieldPath): FieldError[] {
  const length = numberOf(queuing['queueLengthLimit']);
  const queues = numberOf(queuing['queues']);
  const errors: FieldError[] = [];
  if (length <= 0) errors.push(fieldError.invalid(path.child('queueLengthLimit'), length, 'must be positive'));
  if (queues <= 0) errors.push(fieldError.invalid(path.child('queues'), queues, 'must be positive'));
  else if (queues > maxQueues) errors.push(fieldError.invalid(path.child('queues'), queues, `must not be greater than ${maxQueues}`));
  const problem = handProblem(numberOf(queuing['handSize']), queues);
  if (problem !== undefined) errors.push(fieldError.invalid(path.child('handSize'), numberOf(queuing['handSize']), problem));
  return errors;
}

function handProblem(hand: number, queues: number): string | undefined {
  if (hand <= 0) return 'must be positive';
  if (hand > queues) return `should not be greater than queues (${queues})`;
  if (Math.ceil(Math.log2(queues) * hand) <= maxHashBits) return undefined;
  return `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${maxHashBits}`;
}

function specErrors(level: Readonly<Fields>, name: string): FieldError[] {
  const type = textOf(level['type']);
  const limited = maybeFields(level['limited']);
  const exempt = maybeFields(level['exempt']);
  const errors: FieldError[] = [];
  if ((name === 'exempt') !== (type === 'Exempt')) {
    errors.push(fieldError.invalid(spec.child('type'), type, "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  if (type === 'Exempt') {
    if (limited !== undefined) errors.push(fieldError.forbidden(spec.child('limited'), 'must be nil if the type is not Limited'));
    if (exempt !== undefined) errors.push(...shareErrors(exempt, spec.child('exempt')), ...lendableErrors(exempt, spec.child('exempt')));
  } else if (type === 'Limited') {
    if (exempt !== undefined) errors.push(fieldError.forbidden(spec.child('exempt'), 'must be nil if the type is Limited'));
    if (limited === undefined) errors.push(fieldError.required(spec.child('limited'), 'must not be empty when type is Limited'));
    else errors.push(...limitedErrors(limited, spec.child('limited')));
  } else errors.push(fieldError.notSupported(spec.child('type'), type, ['Exempt', 'Limited']));
  return errors;
}

/** Mandatory levels cannot be changed, except for the `exempt` field of the exempt level. */
function mandatoryErrors(level: Readonly<Fields>, name: string): FieldError[] {
  const mandatory = fieldsOf(mandatoryPriorityLevels.get(name));
  if (!mandatoryPriorityLevels.has(name)) return [];
  if (name === 'exempt') {
    if (sameValue({ ...level, exempt: mandatory['exempt'] }, mandatory)) return [];
    return [fieldError.invalid(spec, level, `spec of '${name}' except the 'spec.exempt' field must equal the fixed value`)];
  }
  return sameValue(level, mandatory) ? [] : [fieldError.invalid(spec, level, `spec of '${name}' must equal the fixed value`)];
}

function annotationErrors({ metadata }: KubeObject): FieldError[] {
  if (!Object.hasOwn(metadata.annotations ?? {}, preserveZeroAnnotation)) return [];
  return [fieldError.forbidden(FieldPath.of('metadata', 'annotations'), `annotation '${preserveZeroAnnotation}' is forbidden`)];
}

export const prioritylevelconfigurations: Strategy = {
  generation: true,
  default: (object) => applyDefaults(object, defaults),
  prepareForCreate(object) {
    object['status'] = {};
  },
  prepareForUpdate: (object, old) => keepPart(object, old, 'status'),
  validate(object) {
    const level = fieldsOf(object['spec']);
    const name = object.metadata.name ?? '';
    return [...annotationErrors(object), ...specErrors(level, name), ...mandatoryErrors(level, name)];
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
