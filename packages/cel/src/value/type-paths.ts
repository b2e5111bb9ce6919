import { ArrayList, EntryMap } from './collections.ts';
import { StructValue } from './struct.ts';
import type { Value } from './value.ts';

/** Reports the parts of an object whose type name differs from their path, one message each. */
export function misplacedTypes(root: StructValue): string[] {
  const problems: string[] = [];
  visit(root, root.typeName, problems);
  return problems;
}

function visit(value: Value, expected: string, problems: string[]): void {
  if (value instanceof StructValue) {
    const { typeName } = value;
    if (typeName !== expected) {
      problems.push(`unexpected type name "${typeName}", expected "${expected}", which matches field name path from root Object type`);
    }
    for (const [name, field] of value.fields) visit(field, `${expected}.${name}`, problems);
  } else if (value instanceof ArrayList) {
    for (const element of value.elements) visit(element, expected, problems);
  } else if (value instanceof EntryMap) {
    for (const key of value.keys()) visit(value.find(key)!, expected, problems);
  }
}
