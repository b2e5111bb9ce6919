import type { ErrorList } from '../errors.ts';
import { CelError } from '../value/value.ts';
import type { Expression, MapEntry, StructField } from './ast.ts';
import { DepthGuard, RecursionLimit } from './depth.ts';
import type { Token } from './lexer.ts';
import { readLiteral } from './literal.ts';
import { expandMacro } from './macros.ts';
import { countCharacters } from './source.ts';
import { SyntaxStop, TokenStream } from './token-stream.ts';

const MAXIMUM_CHARACTERS = 100_000;

const reserved = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(' '),
);
const relations = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);
const LITERAL_START = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const EXPRESSION_START = `{'[', '{', '(', '.', '-', '!', ${LITERAL_START}`;
/** The tokens that may follow `[` after an operand, and `(` after a function name. */
const INDEX_START = `{'[', '{', '(', '.', '-', '!', '?', ${LITERAL_START}`;
const ARGUMENT_START = `{'[', '{', '(', ')', '.', '-', '!', ${LITERAL_START}`;
const FIELD_START = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";

export interface ParseOptions {
  /** Whether to include macros that are new in the latest version. */
  readonly hasNewestMacros: boolean;
}

/** Parses an expression and expands its macros; undefined if there are errors. */
export function parse(errors: ErrorList, options: ParseOptions): Expression | undefined {
  const size = countCharacters(errors.source.text);
  if (size > MAXIMUM_CHARACTERS) {
    errors.add(`expression code point size exceeds limit: size: ${size}, limit ${MAXIMUM_CHARACTERS}`);
    return undefined;
  }
  try {
    const expression = new Parser(errors, options).parseAll();
    return errors.isEmpty ? expression : undefined;
  } catch (error) {
    if (error instanceof RecursionLimit) errors.add(error.message);
    else if (!(error instanceof SyntaxStop)) throw error;
    return undefined;
  }
}

class Parser {
  readonly #errors: ErrorList;
  readonly #tokens: TokenStream;
  readonly #depth = new DepthGuard();
  readonly #options: ParseOptions;

  constructor(errors: ErrorList, options: ParseOptions) {
    this.#errors = errors;
    this.#options = options;
    this.#tokens = new TokenStream(errors);
  }

  parseAll(): Expression {
    const expression = this.#expression();
    const token = this.#tokens.peek();
    if (token.kind !== 'end') {
      const isLast = this.#tokens.ahead(1).kind === 'end';
      this.#tokens.fail(
        isLast ? `extraneous input '${token.text}' expecting <EOF>` : `mismatched input '${token.text}' expecting <EOF>`,
        token,
      );
    }
    return expression;
  }

  /** Reports an error without stopping the parser, and returns a placeholder node. */
  #reject(message: string, position: number): Expression {
    this.#errors.add(message, position);
    return { kind: 'literal', position, value: null };
  }

  #expression(expected = EXPRESSION_START): Expression {
    this.#depth.enter('expression');
    this.#skipExtraneous(expected);
    const condition = this.#logical('||');
    const question = this.#tokens.take('?');
    let result = condition;
    if (question !== undefined) {
      const whenTrue = this.#logical('||');
      this.#tokens.expect(':');
      const whenFalse = this.#expression();
      result = call('_?_:_', question.position, [condition, whenTrue, whenFalse]);
    }
    this.#depth.leave('expression');
    return result;
  }

  /** Skips one token that cannot start an expression if the next one can. */
  #skipExtraneous(expected: string): void {
    const token = this.#tokens.peek();
    if (this.#tokens.startsExpression()) return;
    if (!this.#tokens.startsExpression(1)) this.#tokens.fail(`mismatched input '${token.text}' expecting ${expected}`, token);
    this.#tokens.report(`extraneous input '${token.text}' expecting ${expected}`, token);
    this.#tokens.next();
  }

  #logical(operator: '||' | '&&'): Expression {
    const parseTerm = (): Expression => (operator === '||' ? this.#logical('&&') : this.#relation());
    const first = parseTerm();
    if (!this.#tokens.at(operator)) return first;
    const terms = [first];
    const position = this.#tokens.peek().position;
    while (this.#tokens.take(operator) !== undefined) terms.push(parseTerm());
    return call(`_${operator}_`, position, terms);
  }

  #relation(): Expression {
    let left = this.#sum();
    let chained = 0;
    while (relations.has(this.#tokens.peek().text) && this.#isOperator()) {
      this.#depth.enter('relation');
      chained++;
      const operator = this.#tokens.next();
      const right = this.#sum();
      left = call(operator.text === 'in' ? '@in' : `_${operator.text}_`, operator.position, [left, right]);
    }
    this.#depth.leave('relation', chained);
    return left;
  }

  #isOperator(): boolean {
    const kind = this.#tokens.peek().kind;
    return kind === 'symbol' || kind === 'keyword';
  }

  #sum(): Expression {
    return this.#chain(['+', '-'], () => this.#chain(['*', '/', '%'], () => this.#unary()));
  }

  #chain(operators: readonly string[], parseTerm: () => Expression): Expression {
    let left = parseTerm();
    let chained = 0;
    while (this.#tokens.peek().kind === 'symbol' && operators.includes(this.#tokens.peek().text)) {
      this.#depth.enter('sum');
      chained++;
      const operator = this.#tokens.next();
      left = call(`_${operator.text}_`, operator.position, [left, parseTerm()]);
    }
    this.#depth.leave('sum', chained);
    return left;
  }

  #unary(): Expression {
    const first = this.#tokens.peek();
    if (!this.#tokens.at('!') && !this.#tokens.at('-')) {
      this.#skipExtraneous(EXPRESSION_START);
      return this.#member();
    }
    const isNegation = first.text === '-';
    if (isNegation && this.#isSignedNumber()) return this.#member();
    let count = 0;
    while (this.#tokens.at(first.text)) {
      this.#tokens.next();
      count++;
    }
    if (!isNegation && this.#tokens.peek().kind === 'end')
      this.#tokens.fail(`extraneous input '<EOF>' expecting ${EXPRESSION_START}`, this.#tokens.peek());
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    return call(isNegation ? '-_' : '!_', first.position, [operand]);
  }

  #isSignedNumber(): boolean {
    const { kind } = this.#tokens.ahead(1);
    return kind === 'int' || kind === 'double';
  }

  #member(): Expression {
    let operand = this.#primary();
    let chained = 0;
    for (;;) {
      if (this.#tokens.at('.')) operand = this.#selectOrMethod(operand);
      else if (this.#tokens.at('[')) operand = this.#subscript(operand);
      else break;
      this.#depth.enter('member');
      chained++;
    }
    this.#depth.leave('member', chained);
    return operand;
  }

  #selectOrMethod(operand: Expression): Expression {
    const dot = this.#tokens.next();
    const isOptional = this.#tokens.take('?') !== undefined;
    const name = this.#tokens.peek();
    if (name.kind === 'escapedIdentifier') {
      this.#tokens.next();
      return this.#reject("unsupported syntax: '`'", name.position);
    }
    if (name.kind !== 'identifier') {
      if (isOptional) this.#tokens.fail(`mismatched input '${name.text}' expecting {IDENTIFIER, ESC_IDENTIFIER}`, name);
      if (name.kind === 'keyword' && name.text !== 'in') this.#tokens.fail(`mismatched input '${name.text}' expecting IDENTIFIER`, name);
      this.#tokens.fail(`no viable alternative at input '.${name.kind === 'end' ? '' : name.text}'`, name);
    }
    this.#tokens.next();
    if (isOptional) {
      const field: Expression = { kind: 'literal', position: name.position, value: name.text };
      return call('_?._', dot.position, [operand, field]);
    }
    const open = this.#tokens.take('(');
    if (open === undefined) return { kind: 'select', position: dot.position, operand, field: name.text, test: false };
    const args = this.#arguments();
    return this.#expand({ name: name.text, target: operand, args, position: open.position });
  }

  #subscript(operand: Expression): Expression {
    const open = this.#tokens.next();
    const isOptional = this.#tokens.take('?') !== undefined;
    const index = this.#expression(isOptional ? EXPRESSION_START : INDEX_START);
    this.#tokens.expect(']');
    return call(isOptional ? '_[?_]' : '_[_]', open.position, [operand, index]);
  }

  #expand(written: { name: string; target: Expression | undefined; args: Expression[]; position: number }): Expression {
    const expansion = expandMacro(written, this.#options.hasNewestMacros);
    if (expansion === undefined) return { kind: 'call', ...written };
    if ('error' in expansion) return this.#reject(expansion.error, expansion.position);
    return expansion;
  }

  #primary(): Expression {
    const token = this.#tokens.peek();
    switch (token.kind) {
      case 'identifier':
        return this.#name(undefined);
      case 'keyword':
        if (token.text === 'in') break;
        this.#tokens.next();
        return { kind: 'literal', position: token.position, value: token.text === 'null' ? null : token.text === 'true' };
      case 'int':
      case 'uint':
      case 'double':
      case 'string':
      case 'bytes':
        return this.#literal(this.#tokens.next(), undefined);
      case 'symbol':
        if (token.text === '(') return this.#parenthesized();
        if (token.text === '[') return this.#listLiteral();
        if (token.text === '{') return this.#mapLiteral();
        if (token.text === '.') return this.#name(this.#tokens.next());
        if (token.text === '-' && this.#isSignedNumber()) {
          const sign = this.#tokens.next();
          return this.#literal(this.#tokens.next(), sign);
        }
        break;
    }
    return this.#tokens.fail(`mismatched input '${token.text}' expecting ${EXPRESSION_START}`, token);
  }

  #parenthesized(): Expression {
    this.#tokens.next();
    const inner = this.#expression();
    this.#tokens.expect(')');
    return inner;
  }

  /** An identifier, a call of a global function, or a message literal. */
  #name(leadingDot: Token | undefined): Expression {
    const token = this.#tokens.peek();
    if (token.kind !== 'identifier') this.#tokens.fail(`mismatched input '${token.text}' expecting IDENTIFIER`, token);
    const struct = this.#structLiteral(leadingDot);
    if (struct !== undefined) return struct;
    this.#tokens.next();
    const open = this.#tokens.take('(');
    const args = open === undefined ? [] : this.#arguments();
    const start = leadingDot ?? token;
    if (reserved.has(token.text)) return this.#reject(`reserved identifier: ${token.text}`, start.position);
    const name = leadingDot === undefined ? token.text : `.${token.text}`;
    if (open === undefined) return { kind: 'identifier', position: token.position, name };
    return this.#expand({ name, target: undefined, args, position: open.position });
  }

  /** `a.b.C{field: value}`: looks ahead past the dotted name for the brace. */
  #structLiteral(leadingDot: Token | undefined): Expression | undefined {
    const names: string[] = [];
    for (let ahead = 0; ; ahead += 2) {
      if (this.#tokens.ahead(ahead).kind !== 'identifier') return undefined;
      names.push(this.#tokens.ahead(ahead).text);
      const separator = this.#tokens.ahead(ahead + 1);
      if (separator.kind === 'symbol' && separator.text === '{') break;
      if (separator.kind !== 'symbol' || separator.text !== '.') return undefined;
    }
    for (let skipped = 1; skipped < names.length * 2; skipped++) this.#tokens.next();
    const open = this.#tokens.next();
    const fields = this.#list('}', () => this.#structField(), "{'}', ','}");
    return { kind: 'struct', position: open.position, name: (leadingDot === undefined ? '' : '.') + names.join('.'), fields };
  }

  #structField(): StructField {
    const optional = this.#tokens.take('?') !== undefined;
    const name = this.#tokens.peek();
    if (name.kind !== 'identifier') this.#tokens.fail(`mismatched input '${name.text}' expecting ${FIELD_START}`, name);
    this.#tokens.next();
    const colon = this.#tokens.expect(':');
    return { position: colon.position, name: name.text, value: this.#expression(), optional };
  }

  #listLiteral(): Expression {
    const open = this.#tokens.next();
    const optional = new Set<number>();
    let count = 0;
    const parseElement = (): Expression => {
      if (this.#tokens.take('?') !== undefined) optional.add(count);
      count++;
      return this.#expression();
    };
    const elements = this.#list(']', parseElement, "{']', ','}");
    return { kind: 'list', position: open.position, elements, optional };
  }

  #mapLiteral(): Expression {
    const open = this.#tokens.next();
    const parseEntry = (): MapEntry => {
      const optional = this.#tokens.take('?') !== undefined;
      const key = this.#expression();
      const colon = this.#tokens.expect(':');
      return { position: colon.position, key, value: this.#expression(), optional };
    };
    const entries = this.#list('}', parseEntry, "{'}', ','}");
    return { kind: 'map', position: open.position, entries };
  }

  #arguments(): Expression[] {
    let isFirst = true;
    return this.#list(')', () => {
      const expected = isFirst ? ARGUMENT_START : EXPRESSION_START;
      isFirst = false;
      return this.#expression(expected);
    });
  }

  /** Comma-separated items up to a closing bracket; all but call arguments may end in a comma. */
  #list<T>(close: string, parseItem: () => T, expected?: string): T[] {
    const items: T[] = [];
    if (this.#tokens.take(close) !== undefined) return items;
    for (;;) {
      if (expected !== undefined && items.length === 0 && this.#tokens.take(',') !== undefined) {
        this.#tokens.expect(close);
        return items;
      }
      items.push(parseItem());
      if (this.#tokens.take(',') === undefined) {
        this.#tokens.expect(close, expected ?? (close === ')' ? "{')', ','}" : undefined));
        return items;
      }
      if (expected === undefined) continue;
      if (this.#tokens.take(close) !== undefined) return items;
      // After a comma, a token that cannot start an item must be the end.
      if (this.#tokens.at(',')) this.#tokens.expect(close);
    }
  }

  #literal(token: Token, sign: Token | undefined): Expression {
    const { position } = sign ?? token;
    const value = readLiteral(token, sign !== undefined);
    return value instanceof CelError ? this.#reject(value.message, position) : { kind: 'literal', position, value };
  }
}

function call(name: string, position: number, args: readonly Expression[]): Expression {
  return { kind: 'call', position, name, target: undefined, args };
}
