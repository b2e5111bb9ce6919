import { globSync, readFileSync } from 'node:fs';

export interface Import {
  readonly file: string;
  readonly line: number;
  /** The text between the quotes. */
  readonly target: string;
}

const pattern = /^\s*(?:import|export)\s[^'"`;]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

/** Every import of a file: of values, of types, and dynamic ones. */
export function importsOf(file: string, text: string): Import[] {
  return [...text.matchAll(pattern)].map((match) => ({
    file,
    line: text.slice(0, match.index + match[0].length).split('\n').length,
    target: match[1] ?? match[2] ?? match[3] ?? '',
  }));
}

function sourceFiles(root: string): string[] {
  return globSync(['packages/*/{src,scripts}/**/*.ts', 'apps/*/{src,bin,scripts}/**/*.{ts,tsx}', 'scripts/**/*.ts', 'tests/**/*.ts'], {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  }).sort();
}

export function allImports(root: string): Import[] {
  return sourceFiles(root).flatMap((file) => importsOf(file, readFileSync(`${root}/${file}`, 'utf8')));
}
