import { isLargeInteger } from '../codec/exact.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { ListType, Scalar, Type } from '../schema/type.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import { GoValue, goTypeName, printSyntax, printValue } from './go-text.ts';
import { type PathElement, printPathElement } from './path-element.ts';
import { fieldType, itemElement, itemType, Untypable } from './shape.ts';

/** Why a configuration does not match its type, in Kubernetes' words; undefined if it does. */
export function typingProblem(type: Type, value: Json): string | undefined {
  return whole(typingProblemInParts(type, value));
}

export function* typingProblemInParts(type: Type, value: Json): Parts<string | undefined> {
  const problems: string[] = [];
  yield* check(type, value, { around: undefined, step: '', problems });
  if (problems.length <= 1) return problems[0];
  return ['errors:', ...problems.map((problem) => `  ${problem}`)].join('\n');
}

interface Place {
  /** Undefined at the root. */
  readonly around: Place | undefined;
  /** `.name`, or the element of an item. Paths are printed only if there is a problem. */
  readonly step: string;
  readonly problems: string[];
}

/** Nobody reads more of them. */
const mostProblems = 100;

function report(place: Place, message: string): void {
  if (place.problems.length >= mostProblems) return;
  const path = pathOf(place);
  place.problems.push(path === '' ? message : `${path}: ${message}`);
}

function pathOf(place: Place): string {
  const steps: string[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.around) steps.push(printStep(at.step));
  return steps.reverse().join('');
}

function printStep(step: string): string {
  return step === '' || step.startsWith('.') || step.startsWith('[') ? step : printPathElement(step);
}

function* check(type: Type, value: Json, place: Place): Parts<void> {
  if (value === null) return;
  if ((value as unknown) instanceof GoValue) report(place, unfit(type, value as unknown as GoValue));
  else if (type.kind === 'scalar') checkScalar(type.scalar, value, place);
  else if (type.kind === 'list') {
    if (Array.isArray(value)) yield* checkItems(type, value, place);
    else report(place, `expected list, got &{${printValue(value)}}`);
  } else if (type.kind !== 'any') {
    if (isObject(value)) yield* checkFields(type, value, place);
    else report(place, `expected map, got &{${printValue(value)}}`);
  }
}

function unfit(type: Type, value: GoValue): string {
  if (type.kind === 'any') return `expected JSON, got ${value.type}`;
  if (type.kind === 'list') return `expected list, got &{${value.printed}}`;
  if (type.kind !== 'scalar') return `expected map, got &{${value.printed}}`;
  switch (type.scalar) {
    case 'int32':
    case 'int64':
    case 'double':
      return `expected numeric (int or float), got ${value.type}`;
    case 'bool':
      return `expected boolean, got &{${value.printed}}`;
    case 'string':
    case 'bytes':
    case 'duration':
      return `expected string, got &value.valueUnstructured{Value:${value.syntax}}`;
    default:
      return `expected any scalar, got &{${value.printed}}`;
  }
}

function checkScalar(scalar: Scalar, value: Json, place: Place): void {
  switch (scalar) {
    case 'int32':
    case 'int64':
    case 'double':
      if (typeof value !== 'number' && !isLargeInteger(value)) report(place, `expected numeric (int or float), got ${goTypeName(value)}`);
      return;
    case 'bool':
      if (typeof value !== 'boolean') report(place, `expected boolean, got &{${printValue(value)}}`);
      return;
    case 'quantity':
    case 'intOrString':
      if (typeof value === 'object') report(place, `expected any scalar, got &{${printValue(value)}}`);
      return;
    default:
      if (typeof value !== 'string') report(place, `expected string, got &value.valueUnstructured{Value:${printSyntax(value)}}`);
  }
}

function* checkFields(type: Type, map: JsonObject, place: Place): Parts<void> {
  for (const key of Object.keys(map).sort()) {
    if (endsPart()) yield;
    const inside = { around: place, step: `.${key}`, problems: place.problems };
    const valueType = fieldType(type, key);
    if (valueType === undefined) {
      report(inside, 'field not declared in schema');
      return;
    }
    const value = map[key]!;
    if (valueType.kind === 'scalar' && typeof value !== 'object') checkScalar(valueType.scalar, value, inside);
    else yield* check(valueType, value, inside);
  }
}

function* checkItems(type: ListType, list: Json[], place: Place): Parts<void> {
  const seen = new Set<PathElement>();
  for (let index = 0; index < list.length; index++) {
    if (endsPart()) yield;
    let step = `[${index}]`;
    if (type.listType !== 'atomic') {
      const element = elementOf(type, list[index]!, index, place);
      if (element === undefined) return;
      step = element;
      if (seen.has(element)) report(place, `duplicate entries for key ${printPathElement(element)}`);
      seen.add(element);
    }
    yield* check(itemType(type), list[index]!, { around: place, step, problems: place.problems });
  }
}

function elementOf(type: ListType, item: Json, index: number, place: Place): PathElement | undefined {
  try {
    return itemElement(type, item);
  } catch (error) {
    if (!(error instanceof Untypable)) throw error;
    report(place, `element ${index}: ${error.message}`);
    return undefined;
  }
}
