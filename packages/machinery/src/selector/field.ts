import { quote } from '../field/error.ts';
import { badRequest } from '../status/status.ts';
import { compareText } from './label.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /** `read` returns the object's value of a field; a missing field is the empty string. */
  matches(read: (field: string) => string): boolean;
  /** The value that a field must have for anything to match, if the selector fixes it: `metadata.name=a` can be a single read. */
  exact(field: string): string | undefined;
  toString(): string;
}

const termLimit = 256;

/** All terms about one field. */
interface FieldTerms {
  readonly field: string;
  /** The value that it must have; undefined if any will do, null if the terms contradict each other. */
  wanted: string | null | undefined;
  readonly unwanted: Set<string>;
}

class Terms implements FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /** A field is read once for each object, however many terms there are about it. */
  readonly #fields: readonly FieldTerms[];

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
    const fields = new Map<string, FieldTerms>();
    for (const { field, operator, value } of requirements) {
      let terms = fields.get(field);
      if (terms === undefined) fields.set(field, (terms = { field, wanted: undefined, unwanted: new Set() }));
      if (operator === '!=') terms.unwanted.add(value);
      else terms.wanted = terms.wanted === undefined || terms.wanted === value ? value : null;
    }
    this.#fields = [...fields.values()];
  }

  matches(read: (field: string) => string): boolean {
    for (const { field, wanted, unwanted } of this.#fields) {
      const value = read(field);
      if ((wanted !== undefined && wanted !== value) || (unwanted.size > 0 && unwanted.has(value))) return false;
    }
    return true;
  }

  exact(field: string): string | undefined {
    return this.requirements.find((term) => term.field === field && term.operator === '=')?.value;
  }

  toString(): string {
    return this.requirements.map((term) => term.field + term.operator + escapeFieldValue(term.value)).join(',');
  }
}

export const everyField: FieldSelector = new Terms([]);

/** Parses `metadata.name=a,status.phase!=Active`. Throws a BadRequest with Kubernetes' message. */
export function parseFieldSelector(text: string): FieldSelector {
  if (text === '') return everyField;
  const terms = splitTerms(text).sort(compareText);
  if (terms.length > termLimit) throw badRequest(`the field selector has ${terms.length} terms, at most ${termLimit} are allowed`);
  const requirements: FieldRequirement[] = [];
  for (const term of terms) {
    if (term === '') continue;
    const requirement = parseTerm(term);
    if (requirement === undefined) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    // Kubernetes ignores a term without field and value.
    if (requirement.field !== '' || requirement.value !== '') requirements.push(requirement);
  }
  return requirements.length === 0 ? everyField : new Terms(requirements);
}

/** Splits at commas that are not escaped by a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === ',') {
      terms.push(text.slice(start, index));
      start = index + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function parseTerm(term: string): FieldRequirement | undefined {
  const equals = term.indexOf('=');
  if (equals === -1) return undefined;
  const negated = term[equals - 1] === '!';
  const start = !negated && term[equals + 1] === '=' ? equals + 2 : equals + 1;
  return {
    field: term.slice(0, negated ? equals - 1 : equals),
    operator: negated ? '!=' : '=',
    value: unescapeFieldValue(term.slice(start)),
  };
}

export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

function unescapeFieldValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text;
  let value = '';
  const characters = Array.from(text);
  for (let index = 0; index < characters.length; index++) {
    let character = characters[index]!;
    if (character === ',' || character === '=') {
      throw badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    }
    if (character === '\\') {
      character = characters[++index] ?? '';
      if (character !== '\\' && character !== ',' && character !== '=') {
        throw badRequest(`invalid field selector: invalid escape sequence: \\${character}`);
      }
    }
    value += character;
  }
  return value;
}

export interface SelectableFields {
  /** The fields that the kind supports besides its name; undefined for a kind that declares none. */
  readonly own: readonly string[] | undefined;
  readonly namespaced: boolean;
  /** Kinds with their own error message. */
  readonly kind?: string;
}

/** Most kinds share one message. */
const unsupported: ReadonlyMap<string, (field: string) => string> = new Map([
  ['Job', (field) => `field label ${quote(field)} not supported for Job`],
  ['ResourceSlice', (field) => `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`],
]);

/**
 * Rejects fields that the kind does not support. Kinds that declare fields are stricter, and have other messages, than those that do not.
 */
export function checkFieldLabels(selector: FieldSelector, { own, namespaced, kind = '' }: SelectableFields): void {
  for (const { field } of selector.requirements) {
    if (field === 'metadata.name' || own?.includes(field)) continue;
    if (field === 'metadata.namespace' && (namespaced || own === undefined)) continue;
    throw own === undefined
      ? badRequest(`${quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`)
      : badRequest(unsupported.get(kind)?.(field) ?? `field label not supported: ${field}`);
  }
}
