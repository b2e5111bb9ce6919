import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** Makes a server report the turns of its event loop that took long, in a file. */
export function reportingTurns(file: string): Readonly<Record<string, string>> {
  const reporter = pathToFileURL(`${import.meta.dirname}/turns-reporter.ts`).href;
  return { NODE_OPTIONS: `--import=${reporter}`, CAPSTAN_LOAD_TURNS: file };
}

/** A long turn of the event loop. */
export interface Turn {
  /** When it ended, in milliseconds since the epoch. */
  readonly at: number;
  /** The processor time that the thread used, in milliseconds. */
  readonly used: number;
}

/** A long garbage collection, which is part of a turn. */
interface Collection {
  readonly at: number;
  /** In milliseconds, which may include waiting for a processor. */
  readonly collected: number;
}

/** The long turns in a period; others waited for no longer than that, however busy the machine is otherwise. */
export function turnsBetween(file: string, from: number, to: number): Turn[] {
  return linesBetween(file, from, to).filter((line): line is Turn => 'used' in line);
}

/** How long the longest garbage collection in a period took, in milliseconds. */
export function longestCollection(file: string, from: number, to: number): number {
  return linesBetween(file, from, to).reduce((longest, line) => ('collected' in line ? Math.max(longest, line.collected) : longest), 0);
}

function linesBetween(file: string, from: number, to: number): (Turn | Collection)[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Turn | Collection)
    .filter(({ at }) => at >= from && at <= to);
}
