import type { ErrorList } from '../errors.ts';
import { type Token, tokenize } from './lexer.ts';

/** Thrown at the first token that matches no rule; the error is already in the list. */
export class SyntaxStop extends Error {}

/** The tokens of an expression, and errors about unexpected ones in the words of cel-go's parser. */
export class TokenStream {
  readonly #errors: ErrorList;
  readonly #tokens: readonly Token[];
  #index = 0;

  constructor(errors: ErrorList) {
    this.#errors = errors;
    this.#tokens = tokenize(errors.source.text, errors);
  }

  /** A token further ahead; the last one is the end. */
  ahead(count: number): Token {
    return this.#tokens[this.#index + count] ?? this.#tokens.at(-1)!;
  }

  peek(): Token {
    return this.#tokens[this.#index]!;
  }

  next(): Token {
    const token = this.#tokens[this.#index]!;
    if (token.kind !== 'end') this.#index++;
    return token;
  }

  at(text: string): boolean {
    const token = this.peek();
    return token.text === text && (token.kind === 'symbol' || token.kind === 'keyword');
  }

  take(text: string): Token | undefined {
    return this.at(text) ? this.next() : undefined;
  }

  /** Consumes an expected token. A single extra or missing token is reported and skipped, so that later errors are found too. */
  expect(text: string, expected = `'${text}'`): Token {
    const token = this.peek();
    if (this.at(text)) return this.next();
    if (this.#followedBy(text)) {
      this.report(`extraneous input '${token.text}' expecting ${expected}`, token);
      this.next();
      return this.next();
    }
    const isMissing = expected === `'${text}'` && (text === ':' ? this.startsExpression() : token.kind === 'end');
    if (!isMissing) return this.fail(`mismatched input '${token.text}' expecting ${expected}`, token);
    this.report(`missing '${text}' at '${token.text}'`, token);
    return token;
  }

  #followedBy(text: string): boolean {
    const next = this.#tokens[this.#index + 1];
    return next?.text === text && next.kind === 'symbol';
  }

  startsExpression(ahead = 0): boolean {
    const token = this.#tokens[this.#index + ahead];
    if (token === undefined || token.kind === 'end' || token.kind === 'escapedIdentifier') return false;
    if (token.kind === 'symbol') return ['[', '{', '(', '.', '-', '!'].includes(token.text);
    return token.text !== 'in' || token.kind !== 'keyword';
  }

  report(message: string, token: Token): void {
    this.#errors.add(`Syntax error: ${message}`, token.position);
  }

  fail(message: string, token: Token): never {
    this.report(message, token);
    throw new SyntaxStop();
  }
}
