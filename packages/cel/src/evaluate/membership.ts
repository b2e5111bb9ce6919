import type { Call, Expression } from '../syntax/ast.ts';
import { keyOf } from '../value/collections.ts';
import { isError, type Value } from '../value/value.ts';
import type { Compiler } from './compile.ts';
import { type Code, isLong, partsOf, short } from './run.ts';

/** `x in ['a', 'b']`: uses a set lookup instead of searching the list, at no cost; undefined unless the list consists of plain literals. */
export function compileMembership(compiler: Compiler, expression: Call): Code | undefined {
  const [member, list] = expression.args as [Expression, Expression];
  if (list.kind !== 'list' || list.optional.size > 0) return undefined;
  // Nothing is in an empty list; Kubernetes does not even evaluate the element.
  if (list.elements.length === 0) return short(() => false);
  const keys = new Set<unknown>();
  for (const element of list.elements) {
    const key = element.kind === 'literal' ? keyOf(element.value) : undefined;
    if (key === undefined) return undefined;
    keys.add(key);
  }
  const value = compiler.compile(member);
  const search = (found: Value): Value => (isError(found) ? found : keys.has(keyOf(found)));
  return {
    step: (run) => search(value.step(run)),
    inParts: isLong(value)
      ? function* (run) {
          return search(yield* partsOf(value, run));
        }
      : undefined,
  };
}
