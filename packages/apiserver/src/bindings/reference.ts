import { fieldsOf, type KubeObject, textOf } from '@capstan/machinery';

/** An export, as an object names it. */
export interface ExportReference {
  /** Empty for the workspace in which it is named. */
  readonly path: string;
  readonly name: string;
}

/** The export that a binding refers to; undefined if it refers to none. */
export function referenceOf({ spec }: KubeObject): ExportReference | undefined {
  const { path, name } = fieldsOf(fieldsOf(fieldsOf(spec)['reference'])['export']);
  return name === undefined ? undefined : { path: textOf(path), name: textOf(name) };
}
