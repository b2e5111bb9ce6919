/** Shorter texts are held once by the engine itself; longer ones are seldom said twice. */
const shortest = 11;
const longest = 4_096;

/**
 * Holds texts once that many objects say alike: names of workspaces and kinds, hashes, certificates. In a copy of thousands of objects most of the memory is such
 * texts. It remembers those that were said lately, and so many that it stays small itself.
 */
export class SharedTexts {
  readonly #capacity: number;
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  constructor(capacity = 10_000) {
    this.#capacity = capacity;
  }

  /** The same text, as it was first seen. */
  of(text: string): string {
    if (text.length < shortest || text.length > longest) return text;
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const known = this.#older.get(text) ?? text;
    if (this.#recent.size >= this.#capacity) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(known, known);
    return known;
  }

  /** How many texts it remembers: at most twice its capacity. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** Replaces all texts within a parsed value, in place. Names of fields are shared anyway. */
  within(value: unknown): void {
    if (Array.isArray(value)) {
      for (const [at, item] of value.entries()) {
        if (typeof item === 'string') value[at] = this.of(item);
        else this.within(item);
      }
    } else if (typeof value === 'object' && value !== null) this.#fieldsOf(value as Record<string, unknown>);
  }

  #fieldsOf(fields: Record<string, unknown>): void {
    for (const key of Object.keys(fields)) {
      const item = fields[key];
      if (typeof item !== 'string') this.within(item);
      // A field of this name would be set as the prototype.
      else if (item.length >= shortest && key !== '__proto__') fields[key] = this.of(item);
    }
  }
}
