import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const docs = resolve(import.meta.dirname, '../../docs');

/** Where a table goes. */
export interface PagePlace {
  /** Its file in `docs`. */
  readonly name: string;
  /** Part of a run never replaces the page of a whole one. */
  readonly isWhole: boolean;
  /** A file that was asked for instead. */
  readonly output: string | undefined;
}

/** Writes a table to its place, else to whoever started the run. */
export function writePage(page: string, { name, isWhole, output }: PagePlace): void {
  const file = output ?? (isWhole ? join(docs, name) : undefined);
  if (file === undefined) process.stdout.write(page);
  else writeFileSync(file, page);
}

/** Keeps what a test said, when somebody asked for it. */
export function keepLog(directory: string | undefined, name: string, output: string): void {
  if (directory === undefined) return;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name.replaceAll(/\W+/g, '-').slice(0, 200)}.log`), output);
}
