import { type FieldError, invalid, quote } from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import { labelValue, qualifiedName } from '../meta/names.ts';
import { aggregate, badRequest } from '../status/status.ts';
import { scan, type Token, type TokenType } from './scan.ts';

export type Labels = Readonly<Record<string, string>>;

export type LabelRequirement =
  | { readonly key: string; readonly operator: 'exists' | '!' }
  | { readonly key: string; readonly operator: '=' | '==' | '!=' | '>' | '<'; readonly value: string }
  | { readonly key: string; readonly operator: 'in' | 'notin'; readonly values: readonly string[] };

/** A selector that is parsed once and evaluated many times. */
export interface LabelSelector {
  readonly requirements: readonly LabelRequirement[];
  matches(labels: Labels | undefined): boolean;
  toString(): string;
}

/** Enough for what tools write, but small enough to bound the cost of a request: each requirement is evaluated on every object. */
const textLimit = 64 * 1024;
const termLimit = 256;

type Test = (labels: Labels) => boolean;

const noLabels: Labels = {};

class CompiledSelector implements LabelSelector {
  readonly requirements: readonly LabelRequirement[];
  readonly #tests: readonly Test[];

  constructor(requirements: readonly LabelRequirement[]) {
    this.requirements = requirements;
    this.#tests = requirements.map(compile);
  }

  matches(labels: Labels | undefined): boolean {
    for (const test of this.#tests) if (!test(labels ?? noLabels)) return false;
    return true;
  }

  toString(): string {
    return this.requirements.map(printRequirement).join(',');
  }
}

export const everything: LabelSelector = new CompiledSelector([]);

export const nothing: LabelSelector = { requirements: [], matches: () => false, toString: () => '' };

/** A selector of validated requirements, sorted by key. */
export function selectorOf(requirements: readonly LabelRequirement[]): LabelSelector {
  if (requirements.length === 0) return everything;
  return new CompiledSelector(requirements.toSorted((one, other) => compareText(one.key, other.key)));
}

export function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Parses `tier=gold,zone in (a,b),!old`. Throws a BadRequest with Kubernetes' message. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === '') return everything;
  if (text.length > textLimit) {
    throw badRequest(`the label selector has ${text.length} characters, at most ${textLimit} are allowed: select by fewer values`);
  }
  const requirements = new Parser(scan(text)).parse();
  if (requirements.length > termLimit) {
    throw badRequest(`the label selector has ${requirements.length} terms, at most ${termLimit} are allowed`);
  }
  return selectorOf(requirements);
}

class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    let next = this.#peek();
    if (next.type === 'end') return requirements;
    if (next.type !== 'identifier' && next.type !== '!') throw refused(next, `, expected: !, identifier, or 'end of string'`);
    while (true) {
      requirements.push(this.#requirement());
      const after = this.#take();
      if (after.type === 'end') return requirements;
      if (after.type !== ',') throw refused(after, `, expected: ',' or 'end of string'`);
      next = this.#peek();
      if (next.type !== 'identifier' && next.type !== '!') throw refused(next, `, expected: identifier after ','`);
    }
  }

  /** Keys and values may be `in` and `notin`; these are operators only between a key and its values. */
  #peek(): Token {
    const token = this.#tokens[this.#position] ?? this.#tokens.at(-1)!;
    return token.type === 'in' || token.type === 'notin' ? { type: 'identifier', text: token.text } : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#position++;
    return token;
  }

  #takeOperator(): Token {
    return this.#tokens[this.#position++] ?? this.#tokens.at(-1)!;
  }

  #requirement(): LabelRequirement {
    let token = this.#take();
    const absent = token.type === '!';
    if (absent) token = this.#take();
    if (token.type !== 'identifier') throw refusedRequirement(token, ', expected: identifier');
    const key = token.text;
    const wrong = qualifiedName(key);
    if (wrong.length > 0) throw requirementError(`<nil>: Invalid value: ${quote(key)}: ${wrong.join('; ')}`);
    if (absent) return { key, operator: '!' };
    const next = this.#peek().type;
    if (next === 'end' || next === ',') return { key, operator: 'exists' };
    return this.#comparison(key);
  }

  #comparison(key: string): LabelRequirement {
    const token = this.#takeOperator();
    switch (token.type) {
      case 'in':
      case 'notin':
        return checked({ key, operator: token.type, values: this.#values() });
      case '=':
      case '==':
      case '!=':
      case '>':
      case '<':
        return checked({ key, operator: token.type, value: this.#value() });
      default:
        throw refusedRequirement(token, ', expected: in, notin, =, ==, !=, gt, lt');
    }
  }

  #value(): string {
    const next = this.#peek().type;
    if (next === 'end' || next === ',') return '';
    const token = this.#take();
    if (token.type !== 'identifier') throw refusedRequirement(token, ', expected: identifier');
    return token.text;
  }

  #values(): string[] {
    const open = this.#take();
    if (open.type !== '(') throw refusedRequirement(open, ` expected: '('`);
    const first = this.#peek();
    if (first.type === ')') {
      this.#take();
      return [''];
    }
    if (first.type !== 'identifier' && first.type !== ',') throw refusedRequirement(first, `, expected: ',', ')' or identifier`);
    const values = this.#list();
    this.#take();
    return values;
  }

  /** Parses up to the closing parenthesis. Two commas in a row enclose the empty value. */
  #list(): string[] {
    const values = new Set<string>();
    while (true) {
      const token = this.#take();
      const next = this.#peek();
      if (token.type === 'identifier') {
        values.add(token.text);
        if (next.type === ')') return [...values].sort(compareText);
        if (next.type !== ',') throw refusedRequirement(next, `, expected: ',' or ')'`);
      } else if (token.type === ',') {
        if (values.size === 0 || next.type === ')' || next.type === ',') values.add('');
        if (next.type === ')') return [...values].sort(compareText);
        if (next.type === ',') this.#take();
      } else {
        throw refusedRequirement(token, `, expected: ',', or identifier`);
      }
    }
  }
}

const refused = (token: Token, expected: string): Error => badRequest(`found '${token.text}'${expected}`);
const requirementError = (message: string): Error => badRequest(`unable to parse requirement: ${message}`);
const refusedRequirement = (token: Token, expected: string): Error => requirementError(`found '${token.text}'${expected}`);

function checked(requirement: Exclude<LabelRequirement, { operator: 'exists' | '!' }>): LabelRequirement {
  const path = FieldPath.of('values');
  const errors: FieldError[] = [];
  const values = 'values' in requirement ? requirement.values : [requirement.value];
  if ((requirement.operator === '>' || requirement.operator === '<') && integer(requirement.value) === undefined) {
    errors.push(invalid(path.index(0), requirement.value, "for 'Gt', 'Lt' operators, the value must be an integer"));
  }
  values.forEach((value, index) => {
    const wrong = labelValue(value);
    if (wrong.length > 0) errors.push(invalid(path.index(index).key(requirement.key), value, wrong.join('; ')));
  });
  if (errors.length > 0) throw requirementError(aggregate(errors.map((error) => `${error.field}: ${error.body}`)));
  return requirement;
}

const int64Limit = 2n ** 63n;

/** A 64-bit integer as Go parses it; undefined for anything else. */
function integer(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value < int64Limit && value >= -int64Limit ? value : undefined;
}

function compile(requirement: LabelRequirement): Test {
  const { key } = requirement;
  switch (requirement.operator) {
    case 'exists':
      return (labels) => Object.hasOwn(labels, key);
    case '!':
      return (labels) => !Object.hasOwn(labels, key);
    case '=':
    case '==': {
      const { value } = requirement;
      return (labels) => labels[key] === value && Object.hasOwn(labels, key);
    }
    case '!=': {
      const { value } = requirement;
      return (labels) => labels[key] !== value || !Object.hasOwn(labels, key);
    }
    case 'in': {
      const values = new Set(requirement.values);
      return (labels) => Object.hasOwn(labels, key) && values.has(labels[key]!);
    }
    case 'notin': {
      const values = new Set(requirement.values);
      return (labels) => !Object.hasOwn(labels, key) || !values.has(labels[key]!);
    }
    case '>':
    case '<':
      return compileComparison(key, requirement.operator, integer(requirement.value)!);
  }
}

function compileComparison(key: string, operator: '>' | '<', limit: bigint): Test {
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? integer(labels[key]!) : undefined;
    return value !== undefined && (operator === '>' ? value > limit : value < limit);
  };
}

function printRequirement(requirement: LabelRequirement): string {
  const { key, operator } = requirement;
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${requirement.values.toSorted(compareText).join(',')})`;
    default:
      return `${key}${operator satisfies TokenType}${requirement.value}`;
  }
}
