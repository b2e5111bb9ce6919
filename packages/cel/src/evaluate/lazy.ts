import { JsonStruct } from '../value/json.ts';
import { Optional, type Value } from '../value/value.ts';
import type { Flow, Task } from './task.ts';

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

  /** What must be done before a field is read. Static, because a field may have any name. */
  static task(json: object, field: string): Task | undefined {
    return json instanceof LazyFields ? json.#inParts(field) : undefined;
  }
}

/** Computes in parts what an expression is about to read. */
export function* computeField(container: Value, field: Value): Flow<void> {
  const inner = container instanceof Optional ? container.value : container;
  if (!(inner instanceof JsonStruct) || typeof field !== 'string') return;
  const task = LazyFields.task(inner.json, field);
  if (task !== undefined) yield task;
}
