import type { Json, JsonObject } from '../json.ts';
import { quoteText } from './go-text.ts';

/**
 * One step of a field path in its FieldsV1 spelling: `f:<name>` a field or map key, `k:{…}` an item of a keyed list, `v:<value>` an item of
 * a set, `i:<index>` a position. The spelling is canonical: equal steps are equal strings.
 */
export type PathElement = string;

const kindOrder = 'fkvi';

export const fieldElement = (name: string): PathElement => `f:${name}`;

export const valueElement = (value: Json): PathElement => `v:${quoteText(JSON.stringify(value))}`;

/** The names must be sorted. */
export function keyElement(names: readonly string[], values: readonly Json[]): PathElement {
  let text = 'k:{';
  for (let index = 0; index < names.length; index++) {
    if (index > 0) text += ',';
    text += `${quoteText(JSON.stringify(names[index]))}:${quoteText(JSON.stringify(values[index]))}`;
  }
  return `${text}}`;
}

export type ParsedElement = { readonly element: PathElement } | { readonly error: string } | 'unknown';

/** Parses and canonicalizes a step from a client. Callers drop steps of unknown kinds. */
export function parsePathElement(text: string): ParsedElement {
  if (text.length < 2) return { error: 'key must be 2 characters long:' };
  if (text[1] !== ':') return { error: `missing colon: ${text}` };
  const content = text.slice(2);
  switch (text[0]) {
    case 'f':
      return { element: text };
    case 'i':
      return /^[+-]?\d+$/.test(content)
        ? { element: `i:${Number(content)}` }
        : { error: `strconv.Atoi: parsing "${content}": invalid syntax` };
    case 'v': {
      const value = parseJson(content);
      return value === undefined ? { error: `invalid value: ${content}` } : { element: valueElement(value) };
    }
    case 'k': {
      const value = parseJson(content);
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return { error: `invalid key: ${content}` };
      const names = Object.keys(value).sort();
      return {
        element: keyElement(
          names,
          names.map((name) => value[name]!),
        ),
      };
    }
    default:
      return 'unknown';
  }
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** A step with its value, which is read once, however often it is compared. */
export interface ReadElement {
  readonly element: PathElement;
  /** Undefined for a field. */
  readonly value: Json | undefined;
}

export function readElement(element: PathElement): ReadElement {
  return { element, value: element.charCodeAt(0) === 102 ? undefined : (JSON.parse(element.slice(2)) as Json) };
}

/** The order in which Kubernetes writes the steps of one level. */
export function compareReadElements(left: ReadElement, right: ReadElement): number {
  const kind = left.element.charCodeAt(0);
  if (kind !== right.element.charCodeAt(0)) return kindOrder.indexOf(left.element[0]!) - kindOrder.indexOf(right.element[0]!);
  if (kind === 102) return left.element === right.element ? 0 : left.element < right.element ? -1 : 1;
  return kind === 107 ? compareKeys(left.value as JsonObject, right.value as JsonObject) : compareValues(left.value!, right.value!);
}

function compareKeys(left: JsonObject, right: JsonObject): number {
  const leftNames = Object.keys(left);
  const rightNames = Object.keys(right);
  for (let index = 0; index < leftNames.length && index < rightNames.length; index++) {
    const leftName = leftNames[index]!;
    const rightName = rightNames[index]!;
    if (leftName !== rightName) return leftName < rightName ? -1 : 1;
    const order = compareValues(left[leftName]!, right[rightName]!);
    if (order !== 0) return order;
  }
  return leftNames.length - rightNames.length;
}

function rank(value: Json): number {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return 0;
    case 'string':
      return 1;
    case 'boolean':
      return 2;
    default:
      return Array.isArray(value) ? 3 : value === null ? 5 : 4;
  }
}

/** Numbers before strings before booleans before lists before maps before null. */
export function compareValues(left: Json, right: Json): number {
  const difference = rank(left) - rank(right);
  if (difference !== 0) return difference;
  if (typeof left === 'object' && left !== null) {
    const leftText = JSON.stringify(left);
    const rightText = JSON.stringify(right);
    return leftText === rightText ? 0 : leftText < rightText ? -1 : 1;
  }
  return left === right ? 0 : left! < right! ? -1 : 1;
}

/** Prints a key's value; an object or list by its parts. */
function printKey(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(printKey).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, part]) => `${name}=${printKey(part)}`)
    .join('');
}

/** A step as messages show it: `.spec`, `[name="a"]`, `[="x"]`, `[3]`. */
export function printPathElement(element: PathElement): string {
  const content = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${content}`;
    case 'k': {
      const key = JSON.parse(content) as JsonObject;
      const parts = Object.keys(key).map((name) => `${name}=${printKey(key[name]!)}`);
      return `[${parts.join(',')}]`;
    }
    case 'v':
      return `[=${JSON.stringify(JSON.parse(content))}]`;
    default:
      return `[${content}]`;
  }
}
