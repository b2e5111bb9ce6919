import { endsPart, type Parts } from '../work/parts.ts';
import { endOfString, lookedThrough, maxDepth } from './depth.ts';

const quote = 0x22;

/** The number of object keys in the text, which must be valid JSON: the number of colons outside strings. */
export function* countKeys(text: string): Parts<number> {
  const reached = { at: 0, keys: 0 };
  for (;;) {
    countMore(text, reached, reached.at + lookedThrough);
    if (reached.at >= text.length) return reached.keys;
    yield;
  }
}

function countMore(text: string, reached: { at: number; keys: number }, until: number): void {
  const end = Math.min(until, text.length);
  let { at, keys } = reached;
  for (; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === 0x3a) keys++;
  }
  reached.at = at;
  reached.keys = keys;
}

/** The error of Go's JSON scanner for text that is not valid JSON. */
export function explainSyntaxError(text: string): Parts<string> {
  return new Scanner(text).scan();
}

const unexpectedEnd = 'unexpected end of JSON input';
const literals = ['true', 'false', 'null'];

/** Long runs of the same are skipped at once, since a body may consist of them. */
const plain = /(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){0,1000}/y;
const digits = /[0-9]*/y;
const spaces = /[ \t\r\n]*/y;

/** The end of the match at an index, which may be empty. */
function endOf(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index;
  pattern.test(text);
  return pattern.lastIndex;
}

/** Walks the text as Go's scanner does and stops at the first invalid character. */
class Scanner {
  readonly #text: string;
  #index = 0;
  readonly #open: ('{' | '[')[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  *scan(): Parts<string> {
    for (;;) {
      if (endsPart()) yield;
      const problem = this.#value() ?? this.#afterValue();
      if (problem === 'next') continue;
      return problem;
    }
  }

  #peek(): string {
    this.#index = endOf(spaces, this.#text, this.#index);
    return this.#text[this.#index] ?? '';
  }

  #wrong(where: string): string {
    if (this.#index >= this.#text.length) return unexpectedEnd;
    return `invalid character ${quoteCharacter(this.#text, this.#index)} ${where}`;
  }

  /** Consumes one value, or, for an object or list, everything up to its first nested value. */
  #value(): string | undefined {
    for (;;) {
      const character = this.#peek();
      if (character === '{' || character === '[') {
        if (this.#open.length === maxDepth) return this.#wrong('exceeded max depth');
        this.#open.push(character);
        this.#index++;
        const inside = this.#peek();
        if (inside === (character === '{' ? '}' : ']')) {
          this.#index++;
          this.#open.pop();
          return undefined;
        }
        if (character === '[') continue;
        const problem = this.#key();
        if (problem !== undefined) return problem;
        continue;
      }
      if (character === '"') return this.#string();
      if (character === '-' || (character >= '0' && character <= '9')) return this.#number();
      const literal = literals.find((word) => word[0] === character);
      return literal === undefined || character === '' ? this.#wrong('looking for beginning of value') : this.#literal(literal);
    }
  }

  #afterValue(): string {
    for (;;) {
      const character = this.#peek();
      const inside = this.#open.at(-1);
      if (inside === undefined) return character === '' ? unexpectedEnd : this.#wrong('after top-level value');
      if (character === ',') {
        this.#index++;
        if (inside === '[') return 'next';
        this.#peek();
        return this.#key() ?? 'next';
      }
      if (character !== (inside === '{' ? '}' : ']'))
        return this.#wrong(inside === '{' ? 'after object key:value pair' : 'after array element');
      this.#index++;
      this.#open.pop();
    }
  }

  #key(): string | undefined {
    if (this.#text[this.#index] !== '"') return this.#wrong('looking for beginning of object key string');
    const problem = this.#string();
    if (problem !== undefined) return problem;
    if (this.#peek() !== ':') return this.#wrong('after object key');
    this.#index++;
    return undefined;
  }

  #string(): string | undefined {
    for (this.#index++; this.#index < this.#text.length; this.#index++) {
      for (let end = endOf(plain, this.#text, this.#index); end > this.#index; end = endOf(plain, this.#text, end)) this.#index = end;
      const character = this.#text[this.#index] ?? '';
      if (character === '') return unexpectedEnd;
      if (character === '"') {
        this.#index++;
        return undefined;
      }
      if (character < ' ') return this.#wrong('in string literal');
      if (character !== '\\') continue;
      const escaped = this.#text[++this.#index] ?? '';
      if (escaped === 'u') {
        for (let digit = 0; digit < 4; digit++) {
          this.#index++;
          if (!/^[0-9a-fA-F]$/.test(this.#text[this.#index] ?? '')) return this.#wrong('in \\u hexadecimal character escape');
        }
      } else if (escaped === '' || !'bfnrt\\/"'.includes(escaped)) return this.#wrong('in string escape code');
    }
    return unexpectedEnd;
  }

  #number(): string | undefined {
    if (this.#text[this.#index] === '-') this.#index++;
    if (this.#text[this.#index] === '0') this.#index++;
    else if (!this.#digits()) return this.#wrong('in numeric literal');
    if (this.#text[this.#index] === '.') {
      this.#index++;
      if (!this.#digits()) return this.#wrong('after decimal point in numeric literal');
    }
    if (/^[eE]$/.test(this.#text[this.#index] ?? '')) {
      this.#index++;
      if (/^[+-]$/.test(this.#text[this.#index] ?? '')) this.#index++;
      if (!this.#digits()) return this.#wrong('in exponent of numeric literal');
    }
    return undefined;
  }

  #digits(): boolean {
    const start = this.#index;
    this.#index = endOf(digits, this.#text, start);
    return this.#index > start;
  }

  #literal(word: string): string | undefined {
    for (const expected of word) {
      if (this.#text[this.#index] !== expected) return this.#wrong(`in literal ${word} (expecting '${expected}')`);
      this.#index++;
    }
    return undefined;
  }
}

const escapes: Record<string, string> = { "'": "\\'", '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f' };

/** One byte in quotes: Go's scanner reads bytes, so only the first byte of a multi-byte character is shown. */
function quoteCharacter(text: string, index: number): string {
  const byte = Buffer.from(String.fromCodePoint(text.codePointAt(index)!))[0]!;
  const character = String.fromCharCode(byte);
  const escaped = escapes[character];
  if (escaped !== undefined) return `'${escaped}'`;
  if (byte < 0x20 || byte === 0x7f) return `'\\x${byte.toString(16).padStart(2, '0')}'`;
  return byte > 0x7f && byte < 0xa1 ? `'\\u00${byte.toString(16)}'` : `'${character}'`;
}
