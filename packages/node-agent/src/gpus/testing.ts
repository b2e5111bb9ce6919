import { readFileSync } from 'node:fs';

/** The text of a fixture. `fixtures/README.md` says which of them were recorded on real machines. */
export function fixture(path: string): string {
  return readFileSync(new URL(`fixtures/${path}`, import.meta.url), 'utf8');
}
