import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Something that starts programs on machines: a control plane, and one agent. */
export interface Peer {
  /** Process ids. */
  readonly servers: readonly number[];
  readonly agent: number;
  /** Orders one run of a program by a command. Resolves when the command has ended, which does not wait for the program. */
  command(name: string): Promise<void>;
  /** The same by a request to the API, over a connection that is open. */
  request(name: string): Promise<void>;
  /** The time at which the program of an order has begun, in milliseconds since 1970. Waits for it. */
  started(name: string): Promise<number>;
}

/** The program of all runs prints the time as its first act. */
export const printTime = 'date +%s%N';

/** Runs without isolation leave the time in a file, which appears as a whole. */
export const writeTime = (file: string): string => `${printTime} > ${file}.new && mv ${file}.new ${file}`;

/** In milliseconds, with fractions. */
export const timeIn = (line: string): number => Number(BigInt(line.trim()) / 1_000n) / 1_000;

const longestStart = 60_000;

/** Polls until the check returns something. */
export async function eventually<Value>(what: string, pause: number, check: () => Promise<Value | undefined>): Promise<Value> {
  for (const began = performance.now(); performance.now() - began < longestStart; await sleep(pause)) {
    const value = await check();
    if (value !== undefined) return value;
  }
  throw new Error(`waited in vain until ${what}`);
}

export const timeInFile = (file: string): Promise<number> =>
  eventually(`${file} exists`, 5, async () => (existsSync(file) ? timeIn(readFileSync(file, 'utf8')) : undefined));
