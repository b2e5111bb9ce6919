import type { Json, JsonObject } from '../json.ts';
import { endsPart, type Parts } from '../work/parts.ts';
import { endOfString } from './depth.ts';
import { exactParserFor } from './exact.ts';
import { setOwn } from './own.ts';

/** Shorter texts are parsed at once. */
const longText = 128 << 10;
/** In characters: how much of a longer text is parsed at once. */
const pieceLength = 16 << 10;
/** Values within this many others are parsed at once, however long they are. */
const deepest = 64;

/** Chooses how to parse what is between two places of a text. */
type ParserFor = (text: string, start: number, end: number) => (part: string) => Json;

/** `parseExact`, or another way to parse JSON, in parts. Throws a SyntaxError for the same texts. */
export function* parseInParts(text: string, parserFor: ParserFor = exactParserFor): Parts<Json> {
  const start = afterSpace(text, 0);
  const opening = text[start];
  if (text.length < longText || (opening !== '{' && opening !== '[')) return parserFor(text, 0, text.length)(text);
  const reader = new Reader(text, parserFor);
  const value = yield* reader.container(start, 0);
  if (afterSpace(text, reader.at) !== text.length) throw new SyntaxError('unexpected text after the value');
  return value;
}

function afterSpace(text: string, start: number): number {
  let at = start;
  for (let code = text.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; code = text.charCodeAt(at)) at++;
  return at;
}

const [quote, comma, brace, bracket, closingBrace, closingBracket] = [0x22, 0x2c, 0x7b, 0x5b, 0x7d, 0x5d];

/** Cuts lists and objects into pieces of whole members, which JSON.parse reads. Members that are too long for a piece are cut in turn. */
class Reader {
  /** The end of the value that was read last. */
  at = 0;
  readonly #text: string;
  readonly #parserFor: ParserFor;

  constructor(text: string, parserFor: ParserFor) {
    this.#text = text;
    this.#parserFor = parserFor;
  }

  *container(start: number, depth: number): Parts<Json> {
    const text = this.#text;
    const isObject = text.charCodeAt(start) === brace;
    const result: JsonObject | Json[] = isObject ? {} : [];
    // Members from `piece` to `member` are whole, and not read yet.
    let piece = start + 1;
    let member = piece;
    let isLast = false;
    while (!isLast) {
      const end = this.#endOfMember(member, depth < deepest ? member + pieceLength : Number.POSITIVE_INFINITY);
      if (end === undefined) {
        if (member > piece) yield* this.#read(result, piece, member - 1);
        const value = this.#valueOf(member, isObject);
        const read = yield* this.container(value.start, depth + 1);
        if (isObject) setOwn(result as JsonObject, value.key, read);
        else (result as Json[]).push(read);
        this.at = afterSpace(text, this.at);
        isLast = this.#isLast(this.at, isObject);
        piece = member = this.at + 1;
        continue;
      }
      isLast = this.#isLast(end, isObject);
      if (isLast || end - piece >= pieceLength) {
        const isEmpty = isLast && piece === start + 1 && afterSpace(text, piece) === end;
        if (!isEmpty) yield* this.#read(result, piece, end);
        piece = end + 1;
      }
      member = end + 1;
    }
    this.at = member;
    return result;
  }

  /** The index of the comma or bracket after a member that starts here; undefined if the member is a list or object beyond the limit. */
  #endOfMember(start: number, limit: number): number | undefined {
    const text = this.#text;
    let depth = 0;
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === quote) at = endOfString(text, at);
      else if (code === brace || code === bracket) depth++;
      else if (code === closingBrace || code === closingBracket) {
        if (depth-- === 0) return at;
      } else if (code === comma && depth === 0) return at;
      if (at > limit && depth > 0) return undefined;
    }
    throw new SyntaxError('unexpected end');
  }

  /** Whether the container ends here; otherwise, another member follows. */
  #isLast(at: number, isObject: boolean): boolean {
    const code = this.#text.charCodeAt(at);
    if (code === comma) return false;
    if (code === (isObject ? closingBrace : closingBracket)) return true;
    throw new SyntaxError('unexpected character after a member');
  }

  *#read(result: JsonObject | Json[], start: number, end: number): Parts<void> {
    const text = this.#text.slice(start, end);
    if (afterSpace(text, 0) === text.length) throw new SyntaxError('expected a member');
    yield;
    const parse = this.#parserFor(this.#text, start, end);
    if (Array.isArray(result)) {
      for (const item of parse(`[${text}]`) as Json[]) result.push(item);
      return;
    }
    const members = parse(`{${text}}`) as JsonObject;
    for (const key of Object.keys(members)) {
      setOwn(result, key, members[key]!);
      if (endsPart()) yield;
    }
  }

  /** The key of a long member, and where its value starts. */
  #valueOf(member: number, isObject: boolean): { readonly key: string; readonly start: number } {
    const text = this.#text;
    let start = afterSpace(text, member);
    let key = '';
    if (isObject) {
      if (text.charCodeAt(start) !== quote) throw new SyntaxError('expected a key');
      const end = endOfString(text, start);
      key = JSON.parse(text.slice(start, end + 1)) as string;
      const colon = afterSpace(text, end + 1);
      if (text[colon] !== ':') throw new SyntaxError('expected a colon');
      start = afterSpace(text, colon + 1);
    }
    const code = text.charCodeAt(start);
    if (code !== brace && code !== bracket) throw new SyntaxError('expected a list or an object');
    return { key, start };
  }
}

/** How many texts are joined at once. */
const joined = 2_000;

/** JSON.stringify in parts, for values of JSON. */
export function* stringifyInParts(value: Json): Parts<string> {
  const sink = new Sink();
  yield* write(value, sink);
  return sink.text();
}

class Sink {
  #texts: string[] = [];
  readonly #whole: string[] = [];

  add(text: string): void {
    if (this.#texts.push(text) < joined) return;
    this.#whole.push(this.#texts.join(''));
    this.#texts = [];
  }

  text(): string {
    return [...this.#whole, ...this.#texts].join('');
  }
}

function* write(value: Json, sink: Sink): Parts<void> {
  if (typeof value !== 'object' || value === null) return sink.add(JSON.stringify(value));
  const isList = Array.isArray(value);
  sink.add(isList ? '[' : '{');
  let separator = '';
  for (const key of isList ? value.keys() : Object.keys(value)) {
    if (endsPart()) yield;
    const inner = (value as Record<string | number, Json | undefined>)[key];
    if (inner === undefined && !isList) continue;
    const start = isList ? separator : `${separator}${JSON.stringify(key)}:`;
    separator = ',';
    if (typeof inner !== 'object' || inner === null) sink.add(start + (JSON.stringify(inner) ?? 'null'));
    else {
      sink.add(start);
      yield* write(inner, sink);
    }
  }
  sink.add(isList ? ']' : '}');
}
