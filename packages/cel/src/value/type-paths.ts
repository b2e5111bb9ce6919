import { limitSteps, OutOfSteps, spend } from '@capstan/machinery';
import { ArrayList, EntryMap } from './collections.ts';
import { StructValue } from './struct.ts';
import type { Value } from './value.ts';

/** An expression can name the same part again and again. */
const MOST_PARTS = 1_000_000;
const MOST_PROBLEMS = 20;

/** Reports the parts of an object whose type name differs from their path, one message each. */
export function misplacedTypes(root: StructValue): string[] {
  const problems: string[] = [];
  try {
    limitSteps(MOST_PARTS, () => visit(root, root.typeName, problems));
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
    problems.push(`the object has more than ${MOST_PARTS} parts`);
  }
  return problems;
}

function visit(value: Value, expected: string, problems: string[]): void {
  spend(1);
  if (value instanceof StructValue) {
    const { typeName } = value;
    if (typeName !== expected && problems.length < MOST_PROBLEMS) {
      problems.push(`unexpected type name "${typeName}", expected "${expected}", which matches field name path from root Object type`);
    }
    for (const [name, field] of value.fields) visit(field, `${expected}.${name}`, problems);
  } else if (value instanceof ArrayList) {
    for (const element of value.elements) visit(element, expected, problems);
  } else if (value instanceof EntryMap) {
    for (const key of value.keys()) visit(value.find(key)!, expected, problems);
  }
}
