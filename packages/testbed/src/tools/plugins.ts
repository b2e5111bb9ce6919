import { mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ToolPaths } from '../requirements.ts';
import type { ToolName } from './catalogue.ts';

/** Links programs into a directory under their own names, which is how kubectl knows its plugins. Gives the PATH with which kubectl finds them. */
export function pathWithPlugins(directory: string, programs: Partial<ToolPaths<ToolName>>): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(directory, name));
  return [directory, process.env['PATH'] ?? ''].join(delimiter);
}
