import { createReadStream } from 'node:fs';
import type { NodeTaskStatus } from '@capstan/api';

type Finding = NonNullable<NodeTaskStatus['report']>[number];

const line = /^residue: (\S(?:.*?\S)?): (.+)$/;
/** In characters, of a line that is looked at. The rest of a longer one is ignored. */
const longestLine = 4096;
const longestName = 253;
const longestMessage = 1024;
const mostFindings = 256;

/** Collects lines of the form `residue: <name>: <message>` from the output of a script: things that it found or could not remove. */
export class Findings {
  readonly #found = new Map<string, string>();
  #further = 0;
  #rest = '';

  /** Takes a piece of the output, which may end within a line. */
  add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!.slice(0, longestLine);
    for (const one of lines) this.#take(one);
  }

  /** All findings, with one entry for each name. Those beyond the limit of a report are only counted. */
  end(): Finding[] {
    this.#take(this.#rest);
    const all = [...this.#found].map(([name, message]) => ({ name, message }));
    if (this.#further === 0) return all;
    return [...all.slice(0, mostFindings - 1), { name: 'further', message: `${this.#further + 1} further findings are in the output` }];
  }

  #take(text: string): void {
    const match = line.exec(text.slice(0, longestLine).trimEnd());
    if (match === null) return;
    const name = match[1]!.slice(0, longestName);
    const known = this.#found.get(name);
    if (known === undefined && this.#found.size === mostFindings) this.#further++;
    else this.#found.set(name, (known === undefined ? match[2]! : `${known}; ${match[2]!}`).slice(0, longestMessage));
  }
}

/** The findings in the output of a script. */
export async function findingsIn(file: string): Promise<Finding[]> {
  const findings = new Findings();
  try {
    for await (const text of createReadStream(file, 'utf8')) findings.add(text as string);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return findings.end();
}
