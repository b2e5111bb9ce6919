import { mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ToolPaths } from '../requirements.ts';
import type { ToolName } from './catalogue.ts';

/** Links programs into a directory under their own names, by which kubectl finds its plugins. Returns the PATH to run kubectl with. */
export function pathWithPlugins(directory: string, programs: Partial<ToolPaths<ToolName>>): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(directory, name));
  return [directory, process.env['PATH'] ?? ''].join(delimiter);
}
