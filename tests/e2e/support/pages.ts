import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';

export const repository = resolve(import.meta.dirname, '../../..');

/** The shell blocks of a section of a page, in order. */
export async function shellBlocks(page: string, heading: string): Promise<string[]> {
  const [, body] = (await section(page, heading)) ?? [];
  if (body === undefined) throw new Error(`${page} has no section "${heading}"`);
  return [...body.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block]) => block!);
}

/** The commands that the text of a section names. */
export async function namedCommands(page: string, heading: string): Promise<string[]> {
  const [, body = ''] = (await section(page, heading)) ?? [];
  return [...body.replace(/^```.*?^```/gms, '').matchAll(/`(capstan [^`]+)`/g)].map(([, command]) => command!);
}

async function section(page: string, heading: string): Promise<RegExpExecArray | null> {
  const text = await readFile(resolve(repository, page), 'utf8');
  return new RegExp(`^## ${heading}\\n(.*?)(?=^## |(?![^]))`, 'ms').exec(text);
}
