/** The engine itself shares shorter texts; longer ones are rarely repeated. */
const shortest = 11;
const longest = 4_096;

/**
 * Stores texts once that many objects repeat: names of workspaces and kinds, hashes, certificates. In a copy of thousands of objects such
 * texts take most of the memory. It remembers a limited number of recently seen ones.
 */
export class SharedTexts {
  readonly #capacity: number;
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  constructor(capacity = 10_000) {
    this.#capacity = capacity;
  }

  /** An equal text, the instance seen first. */
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

  /** Replaces all texts within a parsed value, in place. Field names are shared anyway. */
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
      // Every object has its own uid. Assigning the other field would set the prototype.
      else if (item.length >= shortest && key !== 'uid' && key !== '__proto__') fields[key] = this.of(item);
    }
  }
}
