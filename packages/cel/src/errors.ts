import type { Source } from './syntax/source.ts';

/** One error in an expression, in cel-go's words. */
export interface CompileError {
  readonly message: string;
  /** From 1; -1 if the error has no position. */
  readonly line: number;
  /** From 1, in characters; 0 if the error has no position. */
  readonly column: number;
}

const MAXIMUM_ERRORS = 100;
const MAXIMUM_SNIPPET = 16_384;
/** Beyond this, errors no longer show their line. */
const MAXIMUM_MESSAGE = 32_768;

/** Collects errors while an expression is parsed and checked. */
export class ErrorList {
  readonly source: Source;
  readonly errors: CompileError[] = [];
  #truncated = 0;

  constructor(source: Source) {
    this.source = source;
  }

  get isEmpty(): boolean {
    return this.errors.length === 0;
  }

  /** Adds an error at an offset of the source, or without a position. */
  add(message: string, position?: number): void {
    if (this.errors.length >= MAXIMUM_ERRORS) {
      this.#truncated++;
      return;
    }
    if (position === undefined) this.errors.push({ message, line: -1, column: 0 });
    else this.errors.push({ message, ...this.source.locate(position) });
  }

  /** All errors by position, each with its line and a mark under the column, as long as the message is not too long. */
  print(): string {
    const sorted = this.errors.toSorted((one, other) => one.line - other.line || one.column - other.column);
    let length = 0;
    const lines = sorted.map((error) => {
      const text = printError(error, length > MAXIMUM_MESSAGE ? undefined : this.source);
      length += text.length;
      return text;
    });
    if (this.#truncated > 0) lines.push(`${this.#truncated} more errors were truncated`);
    return lines.join('\n');
  }
}

function printError(error: CompileError, source: Source | undefined): string {
  const head = `ERROR: <input>:${error.line}:${error.column}: ${error.message}`;
  const line = source?.line(error.line);
  if (line === undefined || Buffer.byteLength(line) > MAXIMUM_SNIPPET) return head;
  const snippet = line.replaceAll('\t', ' ');
  const characters = Array.from(snippet);
  let mark = '';
  for (const character of characters.slice(0, error.column - 1)) mark += isWide(character) ? '\uff0e' : '.';
  const marked = characters[error.column - 1];
  mark += marked !== undefined && isWide(marked) ? '\uff3e' : '^';
  return `${head}\n | ${snippet}\n | ${mark}`;
}

/** Characters of more than one byte get a double-width mark. */
function isWide(character: string): boolean {
  return character.codePointAt(0)! > 0x7f;
}
