import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** The Go packages with tests below a folder, by their paths in it. */
export function packagesIn(directory: string): string[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const packages = new Set(files.filter((file) => file.endsWith('_test.go')).map((file) => dirname(file)));
  return [...packages].sort();
}
