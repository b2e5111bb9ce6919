import {
  type FieldError,
  FieldPath,
  fieldError,
  fieldImmutable,
  fieldsOf,
  type KubeObject,
  maybeFields,
  names,
  numberOf,
  textOf,
} from '@capstan/machinery';
import { sameValue } from '../parts.ts';
import type { Strategy } from '../strategy.ts';

/** An event has two versions: core/v1, in which it is stored, and events.k8s.io/v1. These fields have different names there. */
const renamed: readonly (readonly [core: string, events: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];
const toEvents = new Map(renamed);
const toCore = new Map(renamed.map(([core, events]) => [events, core] as const));

/** Fields that each version includes even when empty. */
const printedByCore: Readonly<Record<string, unknown>> = {
  involvedObject: {},
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
};
const hiddenByEvents = ['reportingController', 'reportingInstance', 'note'];

/** Converts an event from events.k8s.io/v1 to core/v1, the stored version. */
export function toCoreEvent(event: KubeObject): KubeObject {
  const { apiVersion: _, ...fields } = event;
  return { ...renameFields(fields, toCore, printedByCore), apiVersion: 'v1' } as KubeObject;
}

/** Converts a stored event to events.k8s.io/v1. */
export function toEventsEvent(event: KubeObject): KubeObject {
  const { apiVersion: _, ...fields } = event;
  const converted = renameFields(fields, toEvents, {});
  for (const name of hiddenByEvents) if (converted[name] === '') delete converted[name];
  return { ...converted, apiVersion: 'events.k8s.io/v1' } as KubeObject;
}

function renameFields(
  fields: Readonly<Record<string, unknown>>,
  renames: ReadonlyMap<string, string>,
  printed: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const result: Record<string, unknown> = { ...printed };
  for (const [name, value] of Object.entries(fields)) result[renames.get(name) ?? name] = value;
  return result;
}

const involvedNamespace = FieldPath.of('involvedObject', 'namespace');

/** Rules for all events. An event without an eventTime is a legacy one. */
function commonErrors(event: KubeObject, controllerField: string): FieldError[] {
  const namespace = event.metadata.namespace ?? '';
  const involved = textOf(fieldsOf(event['involvedObject'])['namespace']);
  const errors: FieldError[] = [];
  const isOlder = !event['eventTime'];
  const expected =
    involved === '' ? namespace === 'default' || namespace === (isOlder ? '' : 'kube-system') : !isOlder || namespace === involved;
  if (!expected) errors.push(fieldError.invalid(involvedNamespace, involved, 'does not match event.namespace'));
  if (!isOlder) errors.push(...reporterErrors(event, controllerField));
  for (const message of names.dns1123Subdomain(namespace)) errors.push(fieldError.invalid(FieldPath.of('namespace'), namespace, message));
  return errors;
}

function reporterErrors(event: KubeObject, controllerField: string): FieldError[] {
  const errors: FieldError[] = [];
  const controller = textOf(event['reportingComponent']);
  if (controller === '') errors.push(fieldError.required(FieldPath.of(controllerField)));
  for (const message of names.qualifiedName(controller))
    errors.push(fieldError.invalid(FieldPath.of(controllerField), controller, message));
  for (const field of ['reportingInstance', 'action', 'reason']) {
    const text = textOf(event[field]);
    if (text === '') errors.push(fieldError.required(FieldPath.of(field)));
    errors.push(...lengthErrors(text, field, 128));
  }
  errors.push(...lengthErrors(textOf(event['message']), 'message', 1024));
  return errors;
}

function lengthErrors(text: string, field: string, limit: number): FieldError[] {
  if (Buffer.byteLength(text) <= limit) return [];
  return [fieldError.invalid(FieldPath.of(field), '', `can have at most ${limit} characters`)];
}

function seriesErrors(event: KubeObject): FieldError[] {
  const series = maybeFields(event['series']);
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  if (numberOf(series['count']) < 2) errors.push(fieldError.invalid(FieldPath.of('series.count'), '', 'should be at least 2'));
  if (!series['lastObservedTime']) errors.push(fieldError.required(FieldPath.of('series.lastObservedTime')));
  return errors;
}

/** events.k8s.io/v1 rejects legacy fields. */
function strictErrors(event: KubeObject): FieldError[] {
  const errors = seriesErrors(event);
  const source = fieldsOf(event['source']);
  const unset = (field: string): FieldError => fieldError.invalid(FieldPath.of(field), '', 'needs to be unset');
  if (!event['eventTime']) errors.push(fieldError.required(FieldPath.of('eventTime')));
  if (event['type'] !== 'Normal' && event['type'] !== 'Warning') {
    errors.push(fieldError.invalid(FieldPath.of('type'), '', `has invalid value: ${textOf(event['type'])}`));
  }
  if (event['firstTimestamp']) errors.push(unset('firstTimestamp'));
  if (event['lastTimestamp']) errors.push(unset('lastTimestamp'));
  if (event['count']) errors.push(unset('count'));
  if (source['component'] || source['host']) errors.push(unset('source'));
  return errors;
}

const lasting = [
  'involvedObject',
  'reason',
  'message',
  // Kubernetes checks it twice.
  'reason',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
];

/** String fields, which are empty in Go when unset. */
const texts = new Set(['reason', 'message', 'type', 'action', 'reportingComponent', 'reportingInstance']);

function changeErrors(event: KubeObject, old: KubeObject): FieldError[] {
  const errors = sameValue(event['series'], old['series']) ? [] : seriesErrors(event);
  for (const field of lasting) {
    if (sameValue(event[field] || undefined, old[field] || undefined)) continue;
    const name = field === 'reportingComponent' ? 'reportingController' : field;
    errors.push(fieldError.invalid(FieldPath.of(name), printed(field, event[field]), fieldImmutable));
  }
  return errors;
}

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
const sourceFields = ['component', 'host'];

/** Kubernetes shows objects in their internal form: all fields, with capitalized names. */
function printed(field: string, value: unknown): unknown {
  const object = maybeFields(value);
  if (object === undefined) return value ?? (texts.has(field) ? '' : value);
  const shown = (name: string): string =>
    name === 'uid' ? 'UID' : name === 'apiVersion' ? 'APIVersion' : name.charAt(0).toUpperCase() + name.slice(1);
  return Object.fromEntries((field === 'source' ? sourceFields : referenceFields).map((name) => [shown(name), textOf(object[name])]));
}

function selectable(event: KubeObject, object: 'involvedObject' | 'regarding'): Record<string, string> {
  const involved = fieldsOf(event[object]);
  const fields: Record<string, string> = { reason: textOf(event['reason']), type: textOf(event['type']) };
  for (const name of referenceFields) fields[`${object}.${name}`] = textOf(involved[name]);
  return fields;
}

const coreEvents: Strategy = {
  defaultPropagation: 'None',
  validateName: names.pathSegment,
  createOnUpdate: true,
  validate: (object) => commonErrors(object, 'reportingComponent'),
  selectableLabels: ['reason', 'type', 'reportingComponent', 'source', ...referenceFields.map((name) => `involvedObject.${name}`)],
  selectableFields: (object) => ({
    ...selectable(object, 'involvedObject'),
    reportingComponent: textOf(object['reportingComponent']),
    source: textOf(fieldsOf(object['source'])['component']) || textOf(object['reportingComponent']),
  }),
};

const newEvents: Strategy = {
  defaultPropagation: 'None',
  createOnUpdate: true,
  validate: (object) => commonErrors(toCoreEvent(object), 'reportingController'),
  validateCreate: (object) => strictErrors(toCoreEvent(object)),
  validateUpdate: (object, old) => changeErrors(toCoreEvent(object), toCoreEvent(old)),
  selectableLabels: ['reason', 'type', 'reportingController', ...referenceFields.map((name) => `regarding.${name}`)],
  selectableFields: (object) => ({ ...selectable(object, 'regarding'), reportingController: textOf(object['reportingController']) }),
};

export const eventStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['/events', coreEvents],
  ['events.k8s.io/events', newEvents],
]);
