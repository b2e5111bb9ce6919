import { duplicateFields, isObject, type Json, type Parts, parseInParts } from '@capstan/machinery';
import type { PatchKind } from './patch.ts';

const operationFields: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** The findings of strict validation in a patch itself, regardless of the result: duplicate fields, and unknown fields of operations. */
export function* patchProblems(kind: PatchKind, text: string): Parts<readonly string[]> {
  const patch = yield* parseInParts(text, () => JSON.parse as (part: string) => Json);
  yield;
  const found = yield* duplicateFields(text, patch);
  if (kind !== 'json') return found;
  for (const [index, operation] of (Array.isArray(patch) ? patch : []).entries()) {
    if (!isObject(operation)) continue;
    for (const field of Object.keys(operation)) if (!operationFields.has(field)) found.push(`unknown field "[${index}].${field}"`);
  }
  // Sorted by operation.
  return found.sort((a, b) => operationOf(a) - operationOf(b)).map((problem) => `json patch ${problem}`);
}

function operationOf(problem: string): number {
  return Number(/"\[(\d+)\]/.exec(problem)?.[1] ?? 0);
}
