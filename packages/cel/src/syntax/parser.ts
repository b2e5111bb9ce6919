import type { ErrorList } from '../errors.ts';
import { intValue, isInt64, isUint64 } from '../value/integer.ts';
import { Double, Uint } from '../value/value.ts';
import type { Expression, MapEntry, StructField } from './ast.ts';
import { DepthGuard, RecursionLimit } from './depth.ts';
import { type Token, type TokenKind, tokenize } from './lexer.ts';
import { expandMacro } from './macros.ts';
import { countCharacters } from './source.ts';
import { EscapeError, unescapeBytes, unescapeString } from './unescape.ts';

const MAXIMUM_CHARACTERS = 100_000;

const reserved = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(' '),
);
const relations = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);
const EXPRESSION_START = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const MEMBER_START = "{'[', '{', '(', '.', '-', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** Thrown at the first token that fits no rule; the error is already in the list. */
class SyntaxStop extends Error {}

/** Parses an expression and expands its macros; undefined when there are errors. */
export function parse(errors: ErrorList): Expression | undefined {
  const size = countCharacters(errors.source.text);
  if (size > MAXIMUM_CHARACTERS) {
    errors.add(`expression code point size exceeds limit: size: ${size}, limit ${MAXIMUM_CHARACTERS}`);
    return undefined;
  }
  try {
    const expression = new Parser(errors).parseAll();
    return errors.isEmpty ? expression : undefined;
  } catch (error) {
    if (error instanceof RecursionLimit) errors.add(error.message);
    else if (!(error instanceof SyntaxStop)) throw error;
    return undefined;
  }
}

class Parser {
  readonly #errors: ErrorList;
  readonly #tokens: readonly Token[];
  readonly #depth = new DepthGuard();
  #index = 0;

  constructor(errors: ErrorList) {
    this.#errors = errors;
    this.#tokens = tokenize(errors.source.text, errors);
  }

  parseAll(): Expression {
    const expression = this.#expression();
    const token = this.#peek();
    if (token.kind !== 'end') {
      const isLast = this.#tokens[this.#index + 1]?.kind === 'end';
      this.#fail(isLast ? `extraneous input '${token.text}' expecting <EOF>` : `mismatched input '${token.text}' expecting <EOF>`, token);
    }
    return expression;
  }

  #peek(): Token {
    return this.#tokens[this.#index]!;
  }

  #next(): Token {
    const token = this.#tokens[this.#index]!;
    if (token.kind !== 'end') this.#index++;
    return token;
  }

  #at(text: string): boolean {
    const token = this.#peek();
    return token.text === text && (token.kind === 'symbol' || token.kind === 'keyword');
  }

  #take(text: string): Token | undefined {
    return this.#at(text) ? this.#next() : undefined;
  }

  #expect(text: string, expected = `'${text}'`): Token {
    const token = this.#peek();
    if (this.#at(text)) return this.#next();
    const isMissing = token.kind === 'end' && expected === `'${text}'` && text !== ':';
    return this.#fail(isMissing ? `missing '${text}' at '<EOF>'` : `mismatched input '${token.text}' expecting ${expected}`, token);
  }

  #fail(message: string, token: Token): never {
    this.#errors.add(`Syntax error: ${message}`, token.position);
    throw new SyntaxStop();
  }

  /** Reports an error that does not stop the parser, and puts a harmless node in place of what was wrong. */
  #reject(message: string, position: number): Expression {
    this.#errors.add(message, position);
    return { kind: 'literal', position, value: null };
  }

  #expression(): Expression {
    this.#depth.enter('expression');
    const condition = this.#logical('||');
    const question = this.#take('?');
    let result = condition;
    if (question !== undefined) {
      const whenTrue = this.#logical('||');
      this.#expect(':');
      const whenFalse = this.#expression();
      result = call('_?_:_', question.position, [condition, whenTrue, whenFalse]);
    }
    this.#depth.leave('expression');
    return result;
  }

  #logical(operator: '||' | '&&'): Expression {
    const parseTerm = (): Expression => (operator === '||' ? this.#logical('&&') : this.#relation());
    const first = parseTerm();
    if (!this.#at(operator)) return first;
    const terms = [first];
    const position = this.#peek().position;
    while (this.#take(operator) !== undefined) terms.push(parseTerm());
    return call(`_${operator}_`, position, terms);
  }

  #relation(): Expression {
    let left = this.#sum();
    let chained = 0;
    while (relations.has(this.#peek().text) && this.#isOperator()) {
      this.#depth.enter('relation');
      chained++;
      const operator = this.#next();
      const right = this.#sum();
      left = call(operator.text === 'in' ? '@in' : `_${operator.text}_`, operator.position, [left, right]);
    }
    this.#depth.leave('relation', chained);
    return left;
  }

  #isOperator(): boolean {
    const kind = this.#peek().kind;
    return kind === 'symbol' || kind === 'keyword';
  }

  #sum(): Expression {
    return this.#chain(['+', '-'], () => this.#chain(['*', '/', '%'], () => this.#unary()));
  }

  #chain(operators: readonly string[], parseTerm: () => Expression): Expression {
    let left = parseTerm();
    let chained = 0;
    while (this.#peek().kind === 'symbol' && operators.includes(this.#peek().text)) {
      this.#depth.enter('sum');
      chained++;
      const operator = this.#next();
      left = call(`_${operator.text}_`, operator.position, [left, parseTerm()]);
    }
    this.#depth.leave('sum', chained);
    return left;
  }

  #unary(): Expression {
    const first = this.#peek();
    if (!this.#at('!') && !this.#at('-')) return this.#member(EXPRESSION_START);
    const isNegation = first.text === '-';
    if (isNegation && this.#isNumber(this.#index + 1)) return this.#member(MEMBER_START);
    let count = 0;
    while (this.#at(first.text)) {
      this.#next();
      count++;
    }
    const operand = this.#member(MEMBER_START);
    if (count % 2 === 0) return operand;
    return call(isNegation ? '-_' : '!_', first.position, [operand]);
  }

  #isNumber(index: number): boolean {
    const kind = this.#tokens[index]?.kind;
    return kind === 'int' || kind === 'double';
  }

  #member(expected: string): Expression {
    let operand = this.#primary(expected);
    let chained = 0;
    for (;;) {
      if (this.#at('.')) operand = this.#selectOrMethod(operand);
      else if (this.#at('[')) operand = this.#subscript(operand);
      else break;
      this.#depth.enter('member');
      chained++;
    }
    this.#depth.leave('member', chained);
    return operand;
  }

  #selectOrMethod(operand: Expression): Expression {
    const dot = this.#next();
    const isOptional = this.#take('?') !== undefined;
    const name = this.#peek();
    if (name.kind === 'escapedIdentifier') {
      this.#next();
      return this.#reject("unsupported syntax: '`'", name.position);
    }
    if (name.kind !== 'identifier') {
      if (isOptional) this.#fail(`mismatched input '${name.text}' expecting {IDENTIFIER, ESC_IDENTIFIER}`, name);
      if (name.kind === 'keyword' && name.text !== 'in') this.#fail(`mismatched input '${name.text}' expecting IDENTIFIER`, name);
      this.#fail(`no viable alternative at input '.${name.text}'`, name);
    }
    this.#next();
    if (isOptional) {
      const field: Expression = { kind: 'literal', position: name.position, value: name.text };
      return call('_?._', dot.position, [operand, field]);
    }
    const open = this.#take('(');
    if (open === undefined) return { kind: 'select', position: dot.position, operand, field: name.text, test: false };
    const args = this.#list(')', () => this.#expression());
    return this.#expand({ name: name.text, target: operand, args, position: open.position });
  }

  #subscript(operand: Expression): Expression {
    const open = this.#next();
    const isOptional = this.#take('?') !== undefined;
    const index = this.#expression();
    this.#expect(']');
    return call(isOptional ? '_[?_]' : '_[_]', open.position, [operand, index]);
  }

  #expand(written: { name: string; target: Expression | undefined; args: Expression[]; position: number }): Expression {
    const expansion = expandMacro(written);
    if (expansion === undefined) return { kind: 'call', ...written };
    if ('error' in expansion) return this.#reject(expansion.error, expansion.position);
    return expansion;
  }

  #primary(expected: string): Expression {
    const token = this.#peek();
    switch (token.kind) {
      case 'identifier':
        return this.#name(undefined);
      case 'keyword':
        if (token.text === 'in') break;
        this.#next();
        return { kind: 'literal', position: token.position, value: token.text === 'null' ? null : token.text === 'true' };
      case 'int':
      case 'uint':
      case 'double':
      case 'string':
      case 'bytes':
        return this.#literal(this.#next(), undefined);
      case 'symbol':
        if (token.text === '(') return this.#parenthesized();
        if (token.text === '[') return this.#listLiteral();
        if (token.text === '{') return this.#mapLiteral();
        if (token.text === '.') return this.#name(this.#next());
        if (token.text === '-' && this.#isNumber(this.#index + 1)) {
          const sign = this.#next();
          return this.#literal(this.#next(), sign);
        }
        break;
    }
    return this.#fail(`mismatched input '${token.text}' expecting ${expected}`, token);
  }

  #parenthesized(): Expression {
    this.#next();
    const inner = this.#expression();
    this.#expect(')');
    return inner;
  }

  /** An identifier, a call of a global function, or a message literal. */
  #name(leadingDot: Token | undefined): Expression {
    const token = this.#peek();
    if (token.kind !== 'identifier') this.#fail(`mismatched input '${token.text}' expecting IDENTIFIER`, token);
    const struct = this.#structLiteral(leadingDot);
    if (struct !== undefined) return struct;
    this.#next();
    const open = this.#take('(');
    const args = open === undefined ? [] : this.#list(')', () => this.#expression());
    const start = leadingDot ?? token;
    if (reserved.has(token.text)) return this.#reject(`reserved identifier: ${token.text}`, start.position);
    const name = leadingDot === undefined ? token.text : `.${token.text}`;
    if (open === undefined) return { kind: 'identifier', position: token.position, name };
    return this.#expand({ name, target: undefined, args, position: open.position });
  }

  /** `a.b.C{field: value}`: looks ahead past the dotted name for the brace. */
  #structLiteral(leadingDot: Token | undefined): Expression | undefined {
    let index = this.#index;
    const names: string[] = [];
    for (;;) {
      if (this.#tokens[index]!.kind !== 'identifier') return undefined;
      names.push(this.#tokens[index]!.text);
      const separator = this.#tokens[index + 1]!;
      if (separator.kind === 'symbol' && separator.text === '{') break;
      if (separator.kind !== 'symbol' || separator.text !== '.') return undefined;
      index += 2;
    }
    const open = this.#tokens[index + 1]!;
    this.#index = index + 2;
    const fields = this.#list('}', () => this.#structField(), "{'}', ','}");
    return { kind: 'struct', position: open.position, name: (leadingDot === undefined ? '' : '.') + names.join('.'), fields };
  }

  #structField(): StructField {
    const optional = this.#take('?') !== undefined;
    const name = this.#peek();
    if (name.kind !== 'identifier') this.#fail(`mismatched input '${name.text}' expecting {IDENTIFIER, ESC_IDENTIFIER}`, name);
    this.#next();
    const colon = this.#expect(':');
    return { position: colon.position, name: name.text, value: this.#expression(), optional };
  }

  #listLiteral(): Expression {
    const open = this.#next();
    const optional = new Set<number>();
    let count = 0;
    const parseElement = (): Expression => {
      if (this.#take('?') !== undefined) optional.add(count);
      count++;
      return this.#expression();
    };
    const elements = this.#list(']', parseElement, "{']', ','}");
    return { kind: 'list', position: open.position, elements, optional };
  }

  #mapLiteral(): Expression {
    const open = this.#next();
    const parseEntry = (): MapEntry => {
      const optional = this.#take('?') !== undefined;
      const key = this.#expression();
      const colon = this.#expect(':');
      return { position: colon.position, key, value: this.#expression(), optional };
    };
    const entries = this.#list('}', parseEntry, "{'}', ','}");
    return { kind: 'map', position: open.position, entries };
  }

  /** Items between commas up to a closing bracket; all but call arguments may end in a comma. */
  #list<T>(close: string, parseItem: () => T, expected?: string): T[] {
    const items: T[] = [];
    if (this.#take(close) !== undefined) return items;
    for (;;) {
      if (expected !== undefined && items.length === 0 && this.#take(',') !== undefined) {
        this.#expect(close);
        return items;
      }
      items.push(parseItem());
      if (this.#take(',') === undefined) {
        this.#expect(close, expected ?? (close === ')' ? "{')', ','}" : undefined));
        return items;
      }
      if (expected !== undefined && this.#take(close) !== undefined) return items;
    }
  }

  #literal(token: Token, sign: Token | undefined): Expression {
    const position = (sign ?? token).position;
    const text = (sign?.text ?? '') + token.text;
    switch (token.kind as Exclude<TokenKind, 'symbol'>) {
      case 'int': {
        const value = sign === undefined ? BigInt(token.text) : -BigInt(token.text);
        if (!isInt64(value)) return this.#reject('invalid int literal', position);
        return { kind: 'literal', position, value: intValue(value) };
      }
      case 'uint': {
        const value = BigInt(token.text.slice(0, -1));
        if (!isUint64(value)) return this.#reject('invalid uint literal', position);
        return { kind: 'literal', position, value: new Uint(value) };
      }
      case 'double': {
        const value = Number(text);
        if (!Number.isFinite(value)) return this.#reject('invalid double literal', position);
        return { kind: 'literal', position, value: new Double(value) };
      }
      default:
        return this.#quoted(token);
    }
  }

  #quoted({ kind, text, position }: Token): Expression {
    try {
      return { kind: 'literal', position, value: kind === 'bytes' ? unescapeBytes(text.slice(1)) : unescapeString(text) };
    } catch (error) {
      if (error instanceof EscapeError) return this.#reject(error.message, position);
      throw error;
    }
  }
}

function call(name: string, position: number, args: readonly Expression[]): Expression {
  return { kind: 'call', position, name, target: undefined, args };
}
