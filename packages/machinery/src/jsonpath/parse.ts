export type Operator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'exists';

export type Step =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'slice'; readonly start: number; readonly end: number | undefined }
  | { readonly type: 'all' }
  | {
      readonly type: 'filter';
      readonly path: readonly Step[];
      readonly operator: Operator;
      readonly operand: string | number | boolean | null;
    };

/** The text is not a path, or uses an unsupported feature. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

const textLimit = 4096;

/**
 * Parses `.spec.x`, `.list[0]`, `.list[*].name`, `.conditions[?(@.type=="Ready")].status` and `.labels['a.b']`, with or without enclosing
 * braces.
 */
export function parseJsonPath(text: string): Step[] {
  if (text.length > textLimit) throw new JsonPathError(`the path has ${text.length} characters, at most ${textLimit} are allowed`);
  const inner = text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text;
  const reader = new Reader(inner.startsWith('$') ? inner.slice(1) : inner);
  const steps = reader.steps();
  if (!reader.atEnd) throw reader.unexpected("'.' or '['");
  return steps;
}

const fieldPattern = /(?:\\.|[^\s.[\]{}()|,'"=!<>@$?\\])+/y;
const numberPattern = /-?\d+/y;
const quotedPattern = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/y;
const operatorPattern = /\s*(==|!=|<=|>=|<|>)\s*/y;
const literalPattern = /-?\d+(?:\.\d+)?|true|false|null/y;

class Reader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    return this.#position >= this.#text.length;
  }

  unexpected(expected: string): JsonPathError {
    return new JsonPathError(
      `expected ${expected} at ${JSON.stringify(this.#text.slice(this.#position))} in the path ${JSON.stringify(this.#text)}`,
    );
  }

  steps(): Step[] {
    const steps: Step[] = [];
    while (!this.atEnd) {
      if (this.#skip('.')) {
        // A lone dot is the whole object, and a dot before a bracket has no effect.
        if (this.atEnd || this.#text[this.#position] === '[') continue;
        steps.push(this.#skip('*') ? { type: 'all' } : this.#field());
      } else if (this.#skip('[')) steps.push(this.#bracket());
      else if (steps.length === 0 && this.#position === 0) steps.push(this.#field());
      else break;
    }
    return steps;
  }

  #skip(text: string): boolean {
    if (!this.#text.startsWith(text, this.#position)) return false;
    this.#position += text.length;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#position = pattern.lastIndex;
    return match;
  }

  #expect(text: string): void {
    if (!this.#skip(text)) throw this.unexpected(`'${text}'`);
  }

  #field(): Step {
    const match = this.#match(fieldPattern);
    if (match === undefined) throw this.unexpected('a field name');
    return { type: 'field', name: match[0].replace(/\\(.)/g, '$1') };
  }

  #bracket(): Step {
    const step = this.#subscript();
    this.#expect(']');
    return step;
  }

  #subscript(): Step {
    if (this.#skip('*')) return { type: 'all' };
    if (this.#skip('?(')) return this.#filter();
    const name = this.#match(quotedPattern);
    if (name !== undefined) return { type: 'field', name: unquote(name) };
    const start = this.#match(numberPattern);
    if (this.#skip(':')) {
      const end = this.#match(numberPattern);
      return { type: 'slice', start: Number(start?.[0] ?? 0), end: end && Number(end[0]) };
    }
    if (start === undefined) throw this.unexpected("an index, '*', a quoted name or a filter");
    return { type: 'index', index: Number(start[0]) };
  }

  #filter(): Step {
    this.#expect('@');
    const path = this.steps();
    const operator = this.#match(operatorPattern)?.[1] as Operator | undefined;
    const operand = operator === undefined ? null : this.#operand();
    this.#expect(')');
    return { type: 'filter', path, operator: operator ?? 'exists', operand };
  }

  #operand(): string | number | boolean | null {
    const quoted = this.#match(quotedPattern);
    if (quoted !== undefined) return unquote(quoted);
    const literal = this.#match(literalPattern);
    if (literal === undefined) throw this.unexpected('a quoted text, a number, true, false or null');
    return JSON.parse(literal[0]) as number | boolean | null;
  }
}

function unquote(match: RegExpExecArray): string {
  return (match[1] ?? match[2] ?? '').replace(/\\(.)/g, '$1');
}
