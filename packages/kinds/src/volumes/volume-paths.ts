import type { FieldPath } from '@capstan/machinery';
import { type Fields, itemsOf, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';

export function backstepProblem(path: string): string | undefined {
  return path.split('/').includes('..') ? "must not contain '..'" : undefined;
}

/** Validates a path that must stay inside a volume. */
export function checkDescendingPath(found: Findings, at: FieldPath, path: string): void {
  if (path.startsWith('/')) found.invalid(at, path, 'must be a relative path');
  const backstep = backstepProblem(path);
  if (backstep !== undefined) found.invalid(at, path, backstep);
}

/** Validates the path of a file in a volume. Names that begin with two dots are reserved for the volume itself. */
export function checkLocalPath(found: Findings, at: FieldPath, path: string): void {
  if (path === '') found.required(at);
  checkDescendingPath(found, at, path);
  if (path.startsWith('..') && !path.startsWith('../')) found.invalid(at, path, "must not start with '..'");
}

export function checkMode(found: Findings, at: FieldPath, mode: unknown): void {
  if (typeof mode === 'number' && (mode < 0 || mode > 0o777)) {
    found.invalid(at, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
  }
}

/** Validates the mapping of keys of a secret or config map to files. */
export function checkItems(found: Findings, at: FieldPath, fields: Readonly<Fields>): void {
  checkMode(found, at.child('defaultMode'), fields['defaultMode']);
  for (const [index, item] of itemsOf(fields['items']).entries()) {
    const path = at.child('items').index(index);
    if (textOf(item['key']) === '') found.required(path.child('key'));
    checkLocalPath(found, path.child('path'), textOf(item['path']));
    checkMode(found, path.child('mode'), item['mode']);
  }
}
