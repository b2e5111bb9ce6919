import type { ErrorList } from '../errors.ts';

export type TokenKind = 'symbol' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'identifier' | 'escapedIdentifier' | 'keyword' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly position: number;
}

const skipped = /(?:[\t \r\n\f]+|\/\/[^\n]*)+/y;
const number = /0x[0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d+[uU]?/y;
const word = /[A-Za-z_][A-Za-z0-9_]*/y;
const escapedWord = /`[A-Za-z0-9_./ -]+`/y;
const escapedBeginning = /`[A-Za-z0-9_./ -]*/y;
const symbol = /==|!=|<=|>=|&&|\|\||[[\]{}().,\-!?:+*/%<>]/y;
const keywords = new Set(['in', 'true', 'false', 'null']);

/** Splits an expression into tokens; like cel-go's lexer, reports and skips invalid characters. */
export function tokenize(text: string, errors: ErrorList): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  while (position < text.length) {
    position += matchAt(skipped, text, position).length;
    if (position >= text.length) break;
    const token = readToken(text, position);
    if (token !== undefined) {
      tokens.push(token);
      position += token.text.length;
      continue;
    }
    const length = unreadableLength(text, position);
    errors.add(`Syntax error: token recognition error at: '${printable(text.slice(position, position + length))}'`, position);
    position += length;
  }
  tokens.push({ kind: 'end', text: '<EOF>', position: text.length });
  return tokens;
}

function matchAt(pattern: RegExp, text: string, position: number): string {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? '';
}

function readToken(text: string, position: number): Token | undefined {
  const quoted = readQuoted(text, position);
  if (quoted.end !== undefined) return { kind: quoted.isBytes ? 'bytes' : 'string', text: text.slice(position, quoted.end), position };
  const name = matchAt(word, text, position);
  if (name !== '') return { kind: keywords.has(name) ? 'keyword' : 'identifier', text: name, position };
  const digits = matchAt(number, text, position);
  if (digits !== '') return { kind: numberKind(digits), text: digits, position };
  const sign = matchAt(symbol, text, position);
  if (sign !== '') return { kind: 'symbol', text: sign, position };
  const escaped = matchAt(escapedWord, text, position);
  return escaped === '' ? undefined : { kind: 'escapedIdentifier', text: escaped, position };
}

function numberKind(digits: string): TokenKind {
  if (/[uU]$/.test(digits)) return 'uint';
  if (digits.startsWith('0x')) return 'int';
  return /[.eE]/.test(digits) ? 'double' : 'int';
}

interface Quoted {
  /** The end of the literal; undefined if there is none or it is malformed. */
  readonly end?: number;
  /** The first invalid character of a malformed literal. */
  readonly brokenAt?: number;
  readonly isBytes: boolean;
}

/** A string or bytes literal: an optional `b`, an optional `r`, then one or three quotes. */
function readQuoted(text: string, position: number): Quoted {
  let index = position;
  const isBytes = text[index] === 'b' || text[index] === 'B';
  if (isBytes) index++;
  const isRaw = text[index] === 'r' || text[index] === 'R';
  if (isRaw) index++;
  const quote = text[index];
  if (quote !== '"' && quote !== "'") return { isBytes };
  const triple = quote.repeat(3);
  if (text.startsWith(triple, index)) {
    const end = readUntil(text, index + 3, { delimiter: triple, isRaw, isMultiline: true });
    if (end.end !== undefined) return { ...end, isBytes };
  }
  return { ...readUntil(text, index + 1, { delimiter: quote, isRaw, isMultiline: false }), isBytes };
}

const escapeSequence = /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y;

/** The longest prefix that could still become an escape. */
const escapeBeginning = /\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?/y;

function readUntil(
  text: string,
  start: number,
  rules: { delimiter: string; isRaw: boolean; isMultiline: boolean },
): { end?: number; brokenAt?: number } {
  let index = start;
  while (index < text.length) {
    const character = text[index]!;
    if (character === rules.delimiter[0] && text.startsWith(rules.delimiter, index)) return { end: index + rules.delimiter.length };
    if (!rules.isMultiline && (character === '\n' || character === '\r')) return { brokenAt: index };
    if (character === '\\' && !rules.isRaw) {
      const sequence = matchAt(escapeSequence, text, index);
      if (sequence === '') return { brokenAt: Math.min(index + matchAt(escapeBeginning, text, index).length, text.length) };
      index += sequence.length;
    } else index++;
  }
  return { brokenAt: text.length };
}

/** The length of an invalid token, up to and including the character that makes it invalid. */
function unreadableLength(text: string, position: number): number {
  const quoted = readQuoted(text, position);
  if (quoted.brokenAt !== undefined) return Math.min(quoted.brokenAt + 1, text.length) - position;
  const first = text[position]!;
  if (first === '`') return Math.min(matchAt(escapedBeginning, text, position).length + 1, text.length - position);
  // A lone `=`, `&` or `|` starts a longer operator, so the character after it is the invalid one.
  const next = first === '=' || first === '&' || first === '|' ? 1 : 0;
  const end = Math.min(position + 1 + next, text.length);
  return end - position + (isHighSurrogate(text, end - 1) ? 1 : 0);
}

function isHighSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code <= 0xdbff && index + 1 < text.length;
}

function printable(text: string): string {
  return text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
}
