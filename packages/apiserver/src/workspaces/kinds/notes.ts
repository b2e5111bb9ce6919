import type { Fields } from '@capstan/machinery';
import { isObject } from '@capstan/machinery';

/**
 * The annotations in which one version of an object keeps what another version cannot say. Anybody may write annotations, so what is read from
 * them is checked by whoever takes it, and a note that is no list of objects counts as none: an object must never become unreadable.
 */
export class Notes {
  readonly #annotations: Record<string, string>;

  constructor(annotations: Readonly<Record<string, string>> | undefined) {
    this.#annotations = { ...annotations };
  }

  /** What the note says. It is gone afterwards. */
  take(name: string): readonly Fields[] {
    const text = Object.hasOwn(this.#annotations, name) ? this.#annotations[name] : undefined;
    delete this.#annotations[name];
    return text === undefined ? [] : parseItems(text);
  }

  /** Replaces the note, which is absent when there is nothing to say. */
  put(name: string, items: readonly Fields[]): void {
    if (items.length === 0) delete this.#annotations[name];
    else this.#annotations[name] = JSON.stringify(items);
  }

  /** Undefined when there are none, which is how metadata without annotations looks. */
  get annotations(): Record<string, string> | undefined {
    return Object.keys(this.#annotations).length === 0 ? undefined : this.#annotations;
  }
}

function parseItems(text: string): readonly Fields[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isObject) : [];
  } catch {
    return [];
  }
}
