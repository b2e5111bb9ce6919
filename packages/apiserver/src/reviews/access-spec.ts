import type { ClusterId, User } from '@capstan/api';
import {
  type FieldError,
  FieldPath,
  fieldError,
  type KubeObject,
  names,
  parseFieldSelector,
  parseLabelSelector,
  StatusError,
  status,
} from '@capstan/machinery';
import type { Attributes } from '../authz/attributes.ts';

interface Requirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[] | null;
}

interface SelectorAttributes {
  readonly rawSelector?: string;
  readonly requirements?: readonly Requirement[] | null;
}

export interface ResourceAttributes {
  readonly namespace?: string;
  readonly verb?: string;
  readonly group?: string;
  readonly version?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly fieldSelector?: SelectorAttributes | null;
  readonly labelSelector?: SelectorAttributes | null;
}

export interface NonResourceAttributes {
  readonly path?: string;
  readonly verb?: string;
}

/** The spec of the access reviews. SelfSubjectAccessReviews have no user. */
export interface AccessSpec {
  readonly resourceAttributes?: ResourceAttributes | null;
  readonly nonResourceAttributes?: NonResourceAttributes | null;
  readonly user?: string;
  readonly groups?: readonly string[] | null;
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>> | null;
}

const spec = FieldPath.of('spec');
const resourcePath = spec.child('resourceAttributes');

/** Kubernetes prints this type with the names of its Go fields. */
const printed = ({ path = '', verb = '' }: NonResourceAttributes): object => ({ Path: path, Verb: verb });

export function validateSpec(
  { resourceAttributes, nonResourceAttributes, user = '', groups }: AccessSpec,
  about: 'self' | 'subject',
): FieldError[] {
  const errors: FieldError[] = [];
  if (resourceAttributes && nonResourceAttributes) {
    const path = spec.child('nonResourceAttributes');
    errors.push(fieldError.invalid(path, printed(nonResourceAttributes), 'cannot be specified in combination with resourceAttributes'));
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    errors.push(fieldError.invalid(resourcePath, null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified'));
  }
  if (about === 'subject' && user === '' && (groups ?? []).length === 0) {
    errors.push(fieldError.invalid(spec.child('user'), user, 'at least one of user or group must be specified'));
  }
  if (resourceAttributes) {
    errors.push(...validateSelector(resourceAttributes.fieldSelector, resourcePath.child('fieldSelector'), validateFieldRequirement));
    errors.push(...validateSelector(resourceAttributes.labelSelector, resourcePath.child('labelSelector'), validateLabelRequirement));
  }
  return errors;
}

/** Additional rules for a LocalSubjectAccessReview. */
export function validateLocal({ resourceAttributes, nonResourceAttributes }: AccessSpec, namespace: string): FieldError[] {
  const errors: FieldError[] = [];
  const asked = resourceAttributes?.namespace ?? '';
  if (resourceAttributes && asked !== namespace) {
    errors.push(fieldError.invalid(resourcePath.child('namespace'), asked, 'must match metadata.namespace'));
  }
  if (nonResourceAttributes) {
    errors.push(
      fieldError.invalid(spec.child('nonResourceAttributes'), printed(nonResourceAttributes), 'disallowed on this kind of request'),
    );
  }
  return errors;
}

/** Reviews are never stored, so they must not carry object metadata. */
export function validateMetadata({ metadata }: KubeObject, allowed: 'none' | 'namespace'): FieldError[] {
  const { managedFields: _managedFields, creationTimestamp, namespace, ...rest } = metadata;
  const isEmpty = Object.keys(rest).length === 0 && !creationTimestamp && (allowed === 'namespace' || !namespace);
  const detail = allowed === 'namespace' ? 'must be empty except for namespace' : 'must be empty';
  return isEmpty ? [] : [fieldError.invalid(FieldPath.of('metadata'), metadata, detail)];
}

/** Throws Invalid if there are errors. The status has no kind, because Kubernetes validates these requests before they have one. */
export function throwInvalid(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const { status: full } = status.invalidObject({ group: 'authorization.k8s.io', kind: '' }, '', errors);
  const { kind: _kind, ...details } = full.details ?? {};
  throw new StatusError({ ...full, details });
}

type ValidateRequirement = (requirement: Requirement, path: FieldPath) => FieldError[];

function validateSelector(selector: SelectorAttributes | null | undefined, path: FieldPath, validate: ValidateRequirement): FieldError[] {
  if (!selector) return [];
  const { rawSelector = '' } = selector;
  const requirements = selector.requirements ?? [];
  const errors: FieldError[] = [];
  if (rawSelector !== '' && requirements.length > 0) {
    errors.push(fieldError.invalid(path.child('rawSelector'), rawSelector, 'may not specified at the same time as requirements'));
  }
  if (rawSelector === '' && requirements.length === 0) {
    errors.push(
      fieldError.required(path.child('requirements'), `when ${path.toString()} is specified, requirements or rawSelector is required`),
    );
  }
  requirements.forEach((requirement, index) => void errors.push(...validate(requirement, path.child('requirements').index(index))));
  return errors;
}

/** Accepts unknown operators, which newer clients may send. They are ignored in the decision. */
function validateValues({ operator = '', values }: Requirement, path: FieldPath): FieldError[] {
  const count = (values ?? []).length;
  if ((operator === 'In' || operator === 'NotIn') && count === 0) {
    return [fieldError.required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if ((operator === 'Exists' || operator === 'DoesNotExist') && count > 0) {
    return [fieldError.forbidden(path.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
  }
  return [];
}

function validateFieldRequirement(requirement: Requirement, path: FieldPath): FieldError[] {
  const missing = (requirement.key ?? '') === '' ? [fieldError.required(path.child('key'), 'must be specified')] : [];
  return [...missing, ...validateValues(requirement, path)];
}

function validateLabelRequirement(requirement: Requirement, path: FieldPath): FieldError[] {
  const { key = '', values } = requirement;
  return [
    ...validateValues(requirement, path),
    ...names.qualifiedName(key).map((message) => fieldError.invalid(path.child('key'), key, message)),
    ...(values ?? []).flatMap((value, index) =>
      names.labelValue(value).map((message) => fieldError.invalid(path.child('values').index(index), value, message)),
    ),
  ];
}

export function attributesOf({ resourceAttributes, nonResourceAttributes }: AccessSpec, user: User, cluster: ClusterId): Attributes {
  const {
    namespace = '',
    verb = nonResourceAttributes?.verb ?? '',
    group = '',
    version = '*',
    resource = '',
    subresource = '',
    name = '',
  } = resourceAttributes ?? {};
  const path = nonResourceAttributes?.path ?? '';
  return { cluster, user, verb, isResource: !!resourceAttributes, group, version, resource, subresource, namespace, name, path };
}

/** Reports selectors that could not be parsed; empty if there are none. RBAC ignores selectors, so nothing else depends on them. */
export function evaluationError({ resourceAttributes }: AccessSpec): string {
  const fields = resourceAttributes?.fieldSelector;
  const labels = resourceAttributes?.labelSelector;
  const isPlain = ({ operator, values }: Requirement): boolean =>
    (operator === 'In' || operator === 'NotIn') && (values ?? []).length === 1;
  const isKnown = ({ operator = '' }: Requirement): boolean => ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator);
  return [
    ignored('fieldSelector', fields, { parse: parseFieldSelector, isUnderstood: isPlain }),
    ignored('labelSelector', labels, { parse: parseLabelSelector, isUnderstood: isKnown }),
  ]
    .filter((text) => text !== '')
    .join('; ');
}

interface Reading {
  readonly parse: (text: string) => unknown;
  readonly isUnderstood: (requirement: Requirement) => boolean;
}

function ignored(name: string, selector: SelectorAttributes | null | undefined, { parse, isUnderstood }: Reading): string {
  if (!selector) return '';
  const { rawSelector = '' } = selector;
  const requirements = selector.requirements ?? [];
  const understood = requirements.filter(isUnderstood).length;
  if (requirements.length > 0 ? understood === requirements.length : canParse(parse, rawSelector)) return '';
  return `spec.resourceAttributes.${name} ${understood > 0 ? 'partially ' : ''}ignored due to parse error`;
}

function canParse(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}
