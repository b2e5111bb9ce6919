import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export interface Guide {
  /** The files it shows, by name. */
  readonly files: ReadonlyMap<string, string>;
  /** The commands to type, in order. */
  readonly commands: readonly string[];
  /** The same, with the lines of the output that it shows after each; none where it shows no output. */
  readonly steps: readonly Step[];
}

export interface Step {
  readonly commands: string;
  readonly output: readonly string[];
}

/** Reads a page of the documentation like a user who follows it to the letter. */
export function readGuide(name: string): Guide {
  const text = readFileSync(resolve(import.meta.dirname, '../../../docs', name), 'utf8');
  const files = [...text.matchAll(/(?:This is|With this) `([^`]+)`:\n\n```\w+\n(.*?)```/gs)].map(
    (match) => [match[1]!, match[2]!] as const,
  );
  const steps = stepsIn(text);
  return { files: new Map(files), commands: steps.map(({ commands }) => commands), steps };
}

function stepsIn(text: string): Step[] {
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```/gms)].map((match) => ({ language: match[1]!, text: match[2]! }));
  return blocks.flatMap(({ language, text: commands }, index) => {
    const next = blocks[index + 1];
    const output = next?.language === '' ? next.text.trimEnd().split('\n') : [];
    return language === 'sh' ? [{ commands, output }] : [];
  });
}
