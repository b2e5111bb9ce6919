import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export interface Guide {
  /** The files it shows, by name. */
  readonly files: ReadonlyMap<string, string>;
  /** The commands to type, in order. */
  readonly commands: readonly string[];
}

/** Reads a page of the documentation like a user who follows it to the letter. */
export function readGuide(name: string): Guide {
  const text = readFileSync(resolve(import.meta.dirname, '../../../docs', name), 'utf8');
  const files = [...text.matchAll(/(?:This is|With this) `([^`]+)`:\n\n```\w+\n(.*?)```/gs)].map(
    (match) => [match[1]!, match[2]!] as const,
  );
  const commands = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map((match) => match[1]!);
  return { files: new Map(files), commands };
}
