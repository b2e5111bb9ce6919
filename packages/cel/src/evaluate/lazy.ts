import { JsonStruct } from '../value/json.ts';
import { Optional, type Value } from '../value/value.ts';
import type { Task } from './task.ts';

/** How to compute a field of an object, once. */
export interface Computation {
  /** At once. */
  readonly at: (field: string) => unknown;
  /** In parts, before the field is read; undefined if there is nothing to do. */
  readonly inParts: (field: string) => Task | undefined;
}

/** An object whose fields are computed when an expression first reads them. */
export class LazyFields {
  readonly #inParts: Computation['inParts'];

  constructor(names: Iterable<string>, { at, inParts }: Computation) {
    this.#inParts = inParts;
    for (const name of names) Object.defineProperty(this, name, { enumerable: true, get: () => at(name) });
  }

  /** Returns the task that computes a field, if it must be done before the field is read. Static, because a field may have any name. */
  static task(json: object, field: string): Task | undefined {
    return json instanceof LazyFields ? json.#inParts(field) : undefined;
  }
}

/** Returns the task that must be done before an expression reads a field; undefined if it can be read at once. */
export function taskBefore(container: Value, field: Value): Task | undefined {
  const inner = container instanceof Optional ? container.value : container;
  return inner instanceof JsonStruct && typeof field === 'string' ? LazyFields.task(inner.json, field) : undefined;
}
