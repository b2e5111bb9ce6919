import { fieldsOf, type KubeObject, textOf } from '@capstan/machinery';

/** A reference to an export. */
export interface ExportReference {
  /** Empty for an export in the same workspace. */
  readonly path: string;
  readonly name: string;
}

/** The export that a binding refers to; undefined if it has no reference. */
export function referenceOf({ spec }: KubeObject): ExportReference | undefined {
  const { path, name } = fieldsOf(fieldsOf(fieldsOf(spec)['reference'])['export']);
  return name === undefined ? undefined : { path: textOf(path), name: textOf(name) };
}
