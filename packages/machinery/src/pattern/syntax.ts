/** A range of characters as UTF-16 units, both ends included. */
export type CharacterRange = readonly [from: number, to: number];

export type Node =
  | { readonly kind: 'set'; readonly ranges: readonly CharacterRange[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[] }
  | { readonly kind: 'choice'; readonly options: readonly Node[] }
  | { readonly kind: 'repeat'; readonly of: Node; readonly least: number; readonly most: number }
  | { readonly kind: 'start' }
  | { readonly kind: 'end' };

/** The last character of the Basic Multilingual Plane. */
const last = 0xffff;
const nothingSpecial = /^[^\\^$.|?*+()[\]{}]$/;
const everyLine: readonly CharacterRange[] = [
  [0, 9],
  [11, last],
];

const named: Readonly<Record<string, readonly CharacterRange[]>> = {
  d: [[48, 57]],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  s: [
    [9, 10],
    [12, 13],
    [32, 32],
  ],
};

const escapes: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7 };

/** The pattern uses syntax that is not supported here. It may be valid: RE2 supports more. */
class Beyond extends Error {}

/** Parses the simple part of RE2's syntax: no flags, no Unicode classes, no word boundaries. Undefined for a pattern that uses more. */
export function readPattern(text: string): Node | undefined {
  try {
    const reader = new Reader(text);
    const node = reader.choice();
    return reader.isDone ? node : undefined;
  } catch (error) {
    if (error instanceof Beyond || error instanceof RangeError) return undefined;
    throw error;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isDone(): boolean {
    return this.#at === this.#text.length;
  }

  choice(): Node {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (!this.isDone && this.#text[this.#at] !== '|' && this.#text[this.#at] !== ')') parts.push(this.#repeated());
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts };
  }

  #repeated(): Node {
    const of = this.#single();
    const [least, most] = this.#quantity();
    if (least === 1 && most === 1) return of;
    // Laziness does not matter here: only whether there is a match.
    this.#take('?');
    return { kind: 'repeat', of, least, most };
  }

  #quantity(): [number, number] {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    if (this.#text[this.#at] !== '{') return [1, 1];
    const found = /^\{(\d{1,4})(?:(,)(\d{0,4}))?\}/.exec(this.#text.slice(this.#at, this.#at + 12));
    if (found === null) throw new Beyond();
    this.#at += found[0].length;
    const least = Number(found[1]);
    if (found[2] === undefined) return [least, least];
    return [least, found[3] === '' ? Number.POSITIVE_INFINITY : Number(found[3])];
  }

  #single(): Node {
    const character = this.#text[this.#at]!;
    switch (character) {
      case '^':
        this.#at++;
        return { kind: 'start' };
      case '$':
        this.#at++;
        return { kind: 'end' };
      case '.':
        this.#at++;
        return { kind: 'set', ranges: everyLine };
      case '(':
        return this.#group();
      case '[':
        return this.#set();
      case '\\':
        return { kind: 'set', ranges: this.#escape() };
      default:
        if (!nothingSpecial.test(character) || isSurrogate(character.charCodeAt(0))) throw new Beyond();
        this.#at++;
        return { kind: 'set', ranges: [[character.charCodeAt(0), character.charCodeAt(0)]] };
    }
  }

  #group(): Node {
    this.#at++;
    if (this.#text[this.#at] === '?') {
      const opening = /^\?(?::|P?<\w+>)/.exec(this.#text.slice(this.#at, this.#at + 100));
      if (opening === null) throw new Beyond();
      this.#at += opening[0].length;
    }
    const inner = this.choice();
    if (!this.#take(')')) throw new Beyond();
    return inner;
  }

  #escape(): readonly CharacterRange[] {
    const character = this.#text[++this.#at];
    this.#at++;
    if (character === undefined) throw new Beyond();
    const set = Object.hasOwn(named, character.toLowerCase()) ? named[character.toLowerCase()] : undefined;
    if (set !== undefined) return character === character.toLowerCase() ? set : inverted(set);
    const code = Object.hasOwn(escapes, character) ? escapes[character]! : character.charCodeAt(0);
    // An escaped letter or digit is either special syntax not supported here, or invalid.
    if (/[A-Za-z0-9_]/.test(character) && !Object.hasOwn(escapes, character)) throw new Beyond();
    if (code > 127) throw new Beyond();
    return [[code, code]];
  }

  #set(): Node {
    this.#at++;
    const isInverted = this.#take('^');
    const ranges: CharacterRange[] = [];
    for (let isFirst = true; isFirst || this.#text[this.#at] !== ']'; isFirst = false) {
      if (this.isDone || this.#text.startsWith('[:', this.#at)) throw new Beyond();
      const low = this.#member();
      const isRange = this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']';
      if (!isRange) {
        ranges.push(...low);
        continue;
      }
      this.#at++;
      if (this.isDone) throw new Beyond();
      const high = this.#member();
      if (!isOne(low) || !isOne(high) || low[0]![0] > high[0]![0]) throw new Beyond();
      ranges.push([low[0]![0], high[0]![0]]);
    }
    this.#at++;
    return { kind: 'set', ranges: isInverted ? inverted(ranges) : ranges };
  }

  #member(): readonly CharacterRange[] {
    if (this.#text[this.#at] === '\\') return this.#escape();
    const code = this.#text.charCodeAt(this.#at++);
    if (isSurrogate(code)) throw new Beyond();
    return [[code, code]];
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
}

function isOne(ranges: readonly CharacterRange[]): boolean {
  return ranges.length === 1 && ranges[0]![0] === ranges[0]![1];
}

export function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

function inverted(ranges: readonly CharacterRange[]): CharacterRange[] {
  const sorted = [...ranges].sort(([one], [other]) => one - other);
  const result: CharacterRange[] = [];
  let next = 0;
  for (const [from, to] of sorted) {
    if (from > next) result.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= last) result.push([next, last]);
  return result;
}
