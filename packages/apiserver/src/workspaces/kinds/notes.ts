import type { Fields } from '@capstan/machinery';
import { isObject } from '@capstan/machinery';

/**
 * The annotations in which one version of an object keeps the fields that it cannot express. Anybody may write annotations, so callers must
 * check what they read, and an annotation that is not a list of objects is ignored: an object must never become unreadable.
 */
export class Notes {
  readonly #annotations: Record<string, string>;

  constructor(annotations: Readonly<Record<string, string>> | undefined) {
    this.#annotations = { ...annotations };
  }

  /** Reads and removes a note. */
  take(name: string): readonly Fields[] {
    const text = Object.hasOwn(this.#annotations, name) ? this.#annotations[name] : undefined;
    delete this.#annotations[name];
    return text === undefined ? [] : parseItems(text);
  }

  /** Replaces a note, or removes it if there are no items. */
  put(name: string, items: readonly Fields[]): void {
    if (items.length === 0) delete this.#annotations[name];
    else this.#annotations[name] = JSON.stringify(items);
  }

  /** Undefined if there are none, as in metadata without annotations. */
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
