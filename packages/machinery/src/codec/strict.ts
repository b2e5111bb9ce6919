import { quote } from '../field/error.ts';
import type { ListType, MapType, ObjectType, Type } from '../schema/type.ts';
import { endOfString } from './depth.ts';

/** Kubernetes stops counting at this number. */
export const maxProblems = 100;

/** Skips anything nested deeper. Nobody writes this many levels, and the stack has room for far more. */
const maxDepth = 1000;

/**
 * Every unknown and duplicate field, in text order, named as Kubernetes names them. It parses the text again, because a parsed value has
 * lost its duplicates. Slow, and only called when there are some. The text must be valid JSON.
 */
export function strictProblems(text: string, type: ObjectType): string[] {
  const reader = new StrictReader(text);
  reader.read(type, '');
  return [...reader.problems];
}

/** The same for objects without a type: only duplicates, at any depth. */
export function repeatedFields(text: string): string[] {
  const reader = new StrictReader(text);
  reader.read(anything, '');
  return [...reader.problems];
}

/** A map of maps without end; lists are searched too. */
const anything: MapType = {
  kind: 'map',
  get values(): Type {
    return anything;
  },
  atomic: false,
};
const anyItems: ListType = { kind: 'list', items: anything, listType: 'atomic', keys: [] };

class StrictReader {
  readonly problems = new Set<string>();
  readonly #text: string;
  #index = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(type: Type | undefined, path: string): void {
    this.#skipSpace();
    const character = this.#text[this.#index];
    if (this.#depth > maxDepth) this.#skipValue();
    else if (character === '{' && (type?.kind === 'object' || type?.kind === 'map')) this.#object(type, path);
    else if (character === '[' && type?.kind === 'list') this.#list(type, path);
    else if (character === '[' && type === anything) this.#list(anyItems, path);
    else this.#skipValue();
  }

  #object(type: ObjectType | MapType, path: string): void {
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
      this.#depth++;
      this.read(this.#field(type, key, { seen, prefix }), prefix + key);
      this.#depth--;
    }
    this.#index++;
  }

  /** The type of the field; undefined if it is unknown, so that nothing inside it is reported. */
  #field(type: ObjectType | MapType, key: string, { seen, prefix }: { seen: Set<string>; prefix: string }): Type | undefined {
    const value = type.kind === 'map' ? type.values : type.fields.get(key)?.type;
    if (value === undefined) {
      if (type.kind === 'map' || !type.preserveUnknown) this.#report(`unknown field ${quote(prefix + key)}`);
      return undefined;
    }
    if (seen.has(key)) this.#report(`duplicate field ${quote(prefix + key)}`);
    seen.add(key);
    return value;
  }

  #list({ items }: ListType, path: string): void {
    this.#index++;
    let count = 0;
    for (this.#skipSpace(); this.#text[this.#index] !== ']'; this.#skipSpace()) {
      if (this.#text[this.#index] === ',') this.#index++;
      else {
        this.#depth++;
        this.read(items, `${path}[${count++}]`);
        this.#depth--;
      }
    }
    this.#index++;
  }

  #report(problem: string): void {
    if (this.problems.size < maxProblems) this.problems.add(problem);
  }

  #skipSpace(): void {
    while (' \t\r\n'.includes(this.#text[this.#index] ?? 'end')) this.#index++;
  }

  /** Skips a value without recursion: it may be as deep as the text allows. */
  #skipValue(): void {
    let open = 0;
    for (; this.#index < this.#text.length; this.#index++) {
      const character = this.#text[this.#index]!;
      if (character === '"') this.#index = endOfString(this.#text, this.#index);
      else if (character === '{' || character === '[') open++;
      else if (character === ',' || character === '}' || character === ']') {
        if (open === 0) return;
        if (character !== ',') open--;
      }
    }
  }
}
