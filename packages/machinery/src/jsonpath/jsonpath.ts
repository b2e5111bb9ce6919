import { isObject, type Json } from '../json.ts';
import { parseJsonPath, type Step } from './parse.ts';

export { JsonPathError } from './parse.ts';

/** A compiled path into an object. */
export interface JsonPath {
  /** Every value that the path selects, in order; none if a part of the path is missing. */
  find(value: Json): Json[];
  /** The first of them, visiting no more values than `effort` allows. */
  first(value: Json, effort: Effort): Json | undefined;
}

/** How many values may still be visited: the authors of paths and objects determine how many there are. */
export interface Effort {
  left: number;
}

const visitLimit = 100_000;

/** The part of Kubernetes' JSONPath that columns and selectable fields use. Throws a JsonPathError that names the part it cannot parse. */
export function compileJsonPath(text: string): JsonPath {
  const steps = parseJsonPath(text);
  return { find: (value) => walk([value], steps), first: (value, effort) => firstOf(value, steps, effort) };
}

function walk(start: Json[], steps: readonly Step[]): Json[] {
  let values = start;
  for (const step of steps) {
    if (values.length === 0) return values;
    const next: Json[] = [];
    for (const value of values) take(value, step, next);
    if (next.length > visitLimit) return next.slice(0, visitLimit);
    values = next;
  }
  return values;
}

function firstOf(value: Json, steps: readonly Step[], effort: Effort, at = 0): Json | undefined {
  const step = steps[at];
  if (step === undefined) return value;
  if (effort.left-- <= 0) return undefined;
  if (step.type === 'field' || step.type === 'index') {
    const found: Json[] = [];
    take(value, step, found);
    return found[0] === undefined ? undefined : firstOf(found[0], steps, effort, at + 1);
  }
  for (const item of itemsOf(value, step)) {
    if (effort.left-- <= 0) return undefined;
    if (step.type === 'filter' && !holds(item, step)) continue;
    const found = firstOf(item, steps, effort, at + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function itemsOf(value: Json, step: Exclude<Step, { type: 'field' | 'index' }>): readonly Json[] {
  if (Array.isArray(value)) return step.type === 'slice' ? value.slice(step.start, step.end) : value;
  return step.type === 'all' && isObject(value) ? Object.values(value) : [];
}

function take(value: Json, step: Step, found: Json[]): void {
  switch (step.type) {
    case 'field':
      if (isObject(value) && Object.hasOwn(value, step.name)) found.push(value[step.name]!);
      return;
    case 'index':
      if (Array.isArray(value) && value.at(step.index) !== undefined) found.push(value.at(step.index)!);
      return;
    case 'slice':
      if (Array.isArray(value)) for (const item of value.slice(step.start, step.end)) found.push(item);
      return;
    case 'all':
      for (const item of Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []) found.push(item);
      return;
    case 'filter':
      if (Array.isArray(value)) for (const item of value) if (holds(item, step)) found.push(item);
      return;
  }
}

function holds(item: Json, { path, operator, operand }: Extract<Step, { type: 'filter' }>): boolean {
  const values = walk([item], path);
  if (operator === 'exists') return values.length > 0;
  const value = values[0];
  if (value === undefined) return false;
  if (operator === '==') return value === operand;
  if (operator === '!=') return value !== operand;
  if (typeof value !== typeof operand || (typeof value !== 'number' && typeof value !== 'string')) return false;
  const order = value < operand! ? -1 : value > operand! ? 1 : 0;
  return operator === '<' ? order < 0 : operator === '<=' ? order <= 0 : operator === '>' ? order > 0 : order >= 0;
}

/** A value as a column shows it: strings verbatim, other values as JSON. */
export function printJsonPathValue(value: Json): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}
