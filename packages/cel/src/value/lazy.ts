import type { Parts } from '@capstan/machinery';
import { JsonStruct } from './json.ts';
import { Optional, type Value } from './value.ts';

/** An object whose fields are computed when an expression first reads them. */
export abstract class LazyFields {
  /** Computes a field in parts, if there is such a field; then it can be read at once. */
  abstract compute(field: string): Parts<void>;
}

/** Computes in parts what an expression is about to read. */
export function* computeField(container: Value, field: Value): Parts<void> {
  const inner = container instanceof Optional ? container.value : container;
  if (inner instanceof JsonStruct && inner.json instanceof LazyFields && typeof field === 'string') yield* inner.json.compute(field);
}
