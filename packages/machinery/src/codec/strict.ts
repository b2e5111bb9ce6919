import type { ObjectType, Type } from '../schema/type.ts';
import { endOfString } from './json-syntax.ts';

const maxProblems = 100;

/**
 * Every unknown and every repeated field, in the order of the text, as Kubernetes names them. It reads the text itself, because a parsed value no
 * longer has what stood there twice. Slow, and only called when something does. The text is valid JSON.
 */
export function strictProblems(text: string, type: ObjectType): string[] {
  const reader = new StrictReader(text);
  reader.read(type, '');
  return [...reader.problems];
}

/** `quiet`: nothing is reported below, because Go reads that part on its own; undefined: an unknown field, whose content has no type. */
type Expected = Type | 'quiet' | undefined;

class StrictReader {
  readonly problems = new Set<string>();
  readonly #text: string;
  #index = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(type: Expected, path: string): void {
    this.#skipSpace();
    const character = this.#text[this.#index];
    if (character === '{') this.#object(type, path);
    else if (character === '[') this.#list(type, path);
    else this.#skipScalar();
  }

  #object(type: Expected, path: string): void {
    const seen = new Set<string>();
    const prefix = path === '' ? '' : `${path}.`;
    this.#index++;
    for (this.#skipSpace(); this.#text[this.#index] !== '}'; this.#skipSpace()) {
      if (this.#text[this.#index] === ',') {
        this.#index++;
        continue;
      }
      const end = endOfString(this.#text, this.#index);
      const key = JSON.parse(this.#text.slice(this.#index, end + 1)) as string;
      this.#index = end + 1;
      this.#skipSpace();
      this.#index++;
      this.read(this.#field(type, key, { seen, prefix }), prefix + key);
    }
    this.#index++;
  }

  #field(type: Expected, key: string, { seen, prefix }: { seen: Set<string>; prefix: string }): Expected {
    if (type === undefined || type === 'quiet' || type.kind === 'any') return 'quiet';
    if (type.kind !== 'object' && type.kind !== 'map') return undefined;
    const value = type.kind === 'map' ? type.values : type.fields.get(key)?.type;
    if (value === undefined) {
      if (type.kind === 'object' && type.preserveUnknown) return 'quiet';
      this.#report(`unknown field ${JSON.stringify(prefix + key)}`);
      return undefined;
    }
    if (seen.has(key)) this.#report(`duplicate field ${JSON.stringify(prefix + key)}`);
    seen.add(key);
    return value;
  }

  #list(type: Expected, path: string): void {
    const items = typeof type === 'object' && type.kind === 'list' ? type.items : 'quiet';
    this.#index++;
    let count = 0;
    for (this.#skipSpace(); this.#text[this.#index] !== ']'; this.#skipSpace()) {
      if (this.#text[this.#index] === ',') this.#index++;
      else this.read(items, `${path}[${count++}]`);
    }
    this.#index++;
  }

  #report(problem: string): void {
    if (this.problems.size < maxProblems) this.problems.add(problem);
  }

  #skipSpace(): void {
    while (' \t\r\n'.includes(this.#text[this.#index] ?? 'end')) this.#index++;
  }

  #skipScalar(): void {
    if (this.#text[this.#index] === '"') {
      this.#index = endOfString(this.#text, this.#index) + 1;
      return;
    }
    while (!',]} \t\r\n'.includes(this.#text[this.#index] ?? ',')) this.#index++;
  }
}
