import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigError, parseDocument, type Source } from './document.ts';
import type { Shape } from './shape.ts';

/** Reads a configuration file and makes every path in it absolute. Paths are relative to the file. */
export function readConfig<Config extends object>(file: string, shape: Shape<Config>): Config {
  const source: Source = { file, text: readText(file) };
  const root = parseDocument(source);
  return root === undefined ? ({} as Config) : (fromFile(shape(root, source), dirname(resolve(file))) as Config);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(
      `${file}: cannot be read (${error instanceof Error && 'code' in error ? String(error.code) : String(error)}); give --config the path of a YAML file`,
    );
  }
}

function fromFile(value: unknown, base: string, key = ''): unknown {
  if (typeof value === 'string' && (key.endsWith('Directory') || key.endsWith('File'))) return resolve(base, value);
  if (Array.isArray(value)) return value.map((item) => fromFile(item, base, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fromFile(inner, base, name)]));
}
