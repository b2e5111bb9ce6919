import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const docs = resolve(import.meta.dirname, '../../docs');

/** Where to write a table. */
export interface PagePlace {
  /** Its file in `docs`. */
  readonly name: string;
  /** A partial run never replaces the page of a complete one. */
  readonly isWhole: boolean;
  /** A file to write to instead. */
  readonly output: string | undefined;
}

/** Writes a table to its file, or to standard output. */
export function writePage(page: string, { name, isWhole, output }: PagePlace): void {
  const file = output ?? (isWhole ? join(docs, name) : undefined);
  if (file === undefined) process.stdout.write(page);
  else writeFileSync(file, page);
}

/** Stores the output of a test, if a directory is given. */
export function keepLog(directory: string | undefined, name: string, output: string): void {
  if (directory === undefined) return;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name.replaceAll(/\W+/g, '-').slice(0, 200)}.log`), output);
}
