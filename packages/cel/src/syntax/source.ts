import { spend, spendText } from '@capstan/machinery';

/** The text of an expression, with the line and column of each offset. */
export class Source {
  readonly text: string;
  readonly #lineStarts: number[] = [0];

  constructor(text: string) {
    this.text = text;
    for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) this.#lineStarts.push(index + 1);
  }

  /** The line and column of an offset, both from 1; the column counts characters, not UTF-16 units. */
  locate(offset: number): { line: number; column: number } {
    let line = this.#lineStarts.length - 1;
    while (line > 0 && this.#lineStarts[line]! > offset) line--;
    const start = this.#lineStarts[line]!;
    return { line: line + 1, column: countCharacters(this.text.slice(start, offset)) + 1 };
  }

  /** The text of a line without its line break; undefined if there is no such line. */
  line(number: number): string | undefined {
    const start = this.#lineStarts[number - 1];
    if (start === undefined || this.text === '') return undefined;
    const next = this.#lineStarts[number];
    return this.text.slice(start, next === undefined ? undefined : next - 1);
  }
}

/** Finds out at once that a text of Latin letters has none. */
const surrogate = /[\ud800-\udbff]/;

/** The number of Unicode characters in a text. */
export function countCharacters(text: string): number {
  spendText(text.length);
  if (!surrogate.test(text)) return text.length;
  spend(text.length / 4);
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    const code = text.charCodeAt(index);
    if (code < 0xd800 || code > 0xdbff) continue;
    const low = text.charCodeAt(index + 1);
    if (low >= 0xdc00 && low <= 0xdfff) {
      count--;
      index++;
    }
  }
  return count;
}
