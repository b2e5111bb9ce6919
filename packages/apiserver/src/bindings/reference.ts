import type { ApiBinding } from '@capstan/api';

/** A reference to an export. */
export interface ExportReference {
  /** Empty for an export in the same workspace. */
  readonly path: string;
  readonly name: string;
}

/** The export that a binding refers to; undefined if it has no reference. */
export function referenceOf({ spec }: ApiBinding): ExportReference | undefined {
  const found = spec?.reference?.export;
  return found && { path: found.path ?? '', name: found.name };
}
