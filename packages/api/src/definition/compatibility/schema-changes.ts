import { isObject, type Json, type JsonObject, sameJson } from '@capstan/machinery/objects';

/**
 * The changes of a schema that could reject a stored value, or drop a part of it. Where two keywords cannot be compared, such as patterns, every
 * change counts.
 */
export function schemaChanges(old: JsonObject, now: JsonObject, path: string): string[] {
  const found = [...typeChanges(old, now), ...limitChanges(old, now), ...exactChanges(old, now), ...ruleChanges(old, now)];
  return [
    ...found.map((text) => `${path}: ${text}`),
    ...propertyChanges(old, now, path),
    ...requiredChanges(old, now, path),
    ...innerChanges(old, now, path),
  ];
}

function typeChanges(old: JsonObject, now: JsonObject): string[] {
  const changes: string[] = [];
  const isWider = old['type'] === 'integer' && (now['type'] === 'number' || now['x-kubernetes-int-or-string'] === true);
  if (old['type'] !== now['type'] && !isWider) changes.push(`the type changed from ${show(old['type'])} to ${show(now['type'])}`);
  if (old['nullable'] === true && now['nullable'] !== true) changes.push('null is no longer allowed');
  for (const key of ['x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'])
    if (old[key] === true && now[key] !== true) changes.push(`${key} was removed`);
  if (old['x-kubernetes-preserve-unknown-fields'] === true && addedProperties(old, now).length > 0)
    changes.push('fields that could have any value now have a schema');
  return changes;
}

/** Keywords that a larger value makes stricter, and those that a smaller one does. */
const lowerLimits = ['minimum', 'minLength', 'minItems', 'minProperties'];
const upperLimits = ['maximum', 'maxLength', 'maxItems', 'maxProperties'];

function limitChanges(old: JsonObject, now: JsonObject): string[] {
  const changes: string[] = [];
  const compare = (keys: readonly string[], isStricter: (now: number, old: number) => boolean): void => {
    for (const key of keys) {
      const [before, after] = [old[key], now[key]];
      if (typeof after === 'number' && (typeof before !== 'number' || isStricter(after, before)))
        changes.push(`${key} changed from ${show(before)} to ${after}`);
    }
  };
  compare(lowerLimits, (after, before) => after > before);
  compare(upperLimits, (after, before) => after < before);
  for (const key of ['exclusiveMinimum', 'exclusiveMaximum']) if (now[key] === true && old[key] !== true) changes.push(`${key} was added`);
  if (!isMultiple(old['multipleOf'], now['multipleOf']))
    changes.push(`multipleOf changed from ${show(old['multipleOf'])} to ${show(now['multipleOf'])}`);
  return changes;
}

function isMultiple(old: Json | undefined, now: Json | undefined): boolean {
  if (typeof now !== 'number') return true;
  return typeof old === 'number' && Number.isInteger(old / now);
}

/** Changes of keywords that are either the same or not. */
function exactChanges(old: JsonObject, now: JsonObject): string[] {
  const changes: string[] = [];
  const values = now['enum'];
  if (Array.isArray(values)) {
    const before = old['enum'];
    const missing = Array.isArray(before) ? before.filter((one) => !values.some((other) => sameJson(one, other))) : undefined;
    if (missing === undefined) changes.push('an enum was added');
    else if (missing.length > 0) changes.push(`${missing.map(show).join(', ')} left the enum`);
  }
  const isWiderFormat = old['format'] === 'int32' && now['format'] === 'int64';
  if (now['format'] !== undefined && old['format'] !== now['format'] && !isWiderFormat)
    changes.push(`the format changed from ${show(old['format'])} to ${show(now['format'])}`);
  for (const key of ['pattern', 'allOf', 'anyOf', 'oneOf', 'not'])
    if (now[key] !== undefined && !sameJson(old[key], now[key])) changes.push(`${key} changed from ${show(old[key])} to ${show(now[key])}`);
  for (const key of ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type'])
    if (!sameJson(old[key], now[key])) changes.push(`${key} changed from ${show(old[key])} to ${show(now[key])}`);
  return changes;
}

/**
 * Rules that compare with the old value hold for every stored object, since nothing has changed in it. A rule that begins with an old one and goes on with an alternative
 * accepts all that the old one accepted. One that ties a new field to a new value of an enum says nothing about objects that can have neither.
 */
function ruleChanges(old: JsonObject, now: JsonObject): string[] {
  const known = new Set(rulesOf(old).map(({ rule }) => rule));
  const isWider = (rule: unknown): boolean =>
    typeof rule === 'string' &&
    [...known].some((one) => typeof one === 'string' && rule.startsWith(`${one} || `) && !rule.slice(one.length).includes('?'));
  return rulesOf(now).flatMap(({ rule, optionalOldSelf }) => {
    const isTransition = typeof rule === 'string' && /\boldSelf\b/.test(rule) && optionalOldSelf !== true;
    return known.has(rule) || isWider(rule) || isTransition || tiesNewField(rule, old) ? [] : [`the rule ${show(rule)} was added`];
  });
}

/** `(self.type == 'x') == has(self.y)`, where `type` is required and could not be `x`, and there was no `y`. */
function tiesNewField(rule: unknown, old: JsonObject): boolean {
  const [, field, value, other] = (typeof rule === 'string' && /^\(self\.(\w+) == '([^'\\]+)'\) == has\(self\.(\w+)\)$/.exec(rule)) || [];
  if (field === undefined || other === undefined || old['x-kubernetes-preserve-unknown-fields'] === true) return false;
  const { [field]: before, [other]: taken } = fieldsOf(old, 'properties');
  const values = isObject(before) ? before['enum'] : undefined;
  const isRequired = Array.isArray(old['required']) && old['required'].includes(field);
  return isRequired && taken === undefined && Array.isArray(values) && !values.includes(value!);
}

function rulesOf({ 'x-kubernetes-validations': rules }: JsonObject): JsonObject[] {
  return Array.isArray(rules) ? rules.filter(isObject) : [];
}

function propertyChanges(old: JsonObject, now: JsonObject, path: string): string[] {
  const after = fieldsOf(now, 'properties');
  const isOpen = now['x-kubernetes-preserve-unknown-fields'] === true;
  return Object.entries(fieldsOf(old, 'properties')).flatMap(([name, before]) => {
    const field = `${path}.${name}`;
    const current = after[name];
    if (isObject(before) && isObject(current)) return schemaChanges(before, current, field);
    return isOpen ? [] : [`${field}: the field was removed`];
  });
}

/** A stored object may lack a field unless the field was required all along: a default fills the gap whenever the object is read. */
function requiredChanges(old: JsonObject, now: JsonObject, path: string): string[] {
  const before = fieldsOf(old, 'properties');
  const after = fieldsOf(now, 'properties');
  const wasCertain = (name: string): boolean => namesOf(old).includes(name) && !hasDefault(before[name]);
  return namesOf(now)
    .filter((name) => !wasCertain(name) && !hasDefault(after[name]))
    .map((name) => `${path}.${name}: the field became required and has no default`);
}

function innerChanges(old: JsonObject, now: JsonObject, path: string): string[] {
  const changes: string[] = [];
  for (const [key, suffix] of [['items', '[]'] as const, ['additionalProperties', '.*'] as const]) {
    const [before, after] = [old[key], now[key]];
    if (isObject(before) && isObject(after)) changes.push(...schemaChanges(before, after, `${path}${suffix}`));
    else if (!sameJson(before, after) && now['x-kubernetes-preserve-unknown-fields'] !== true)
      changes.push(`${path}: ${key} ${before === undefined ? 'was added' : after === undefined ? 'was removed' : 'changed'}`);
  }
  return changes;
}

const addedProperties = (old: JsonObject, now: JsonObject): string[] => {
  const before = fieldsOf(old, 'properties');
  return Object.keys(fieldsOf(now, 'properties')).filter((name) => before[name] === undefined);
};

const hasDefault = (schema: Json | undefined): boolean => isObject(schema) && schema['default'] !== undefined;

function fieldsOf(schema: JsonObject, key: string): JsonObject {
  const value = schema[key];
  return isObject(value) ? value : {};
}

function namesOf({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

const show = (value: Json | undefined): string => (value === undefined ? 'none' : JSON.stringify(value));
