import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isObject } from '@capstan/machinery';
import type { Moment } from '../time/moment.ts';
import type { TaskOutcome, TaskRequest } from './task-type.ts';

/** One line: a change in the life of an attempt. */
export type JournalEntry =
  /** `claim` marks the status of the attempt at the control plane as ours. */
  | { readonly state: 'accepted'; readonly key: string; readonly request: TaskRequest; readonly claim?: string }
  /** Written before the first effect of the task. */
  | { readonly state: 'running'; readonly key: string; readonly since: Moment }
  | { readonly state: 'done'; readonly key: string; readonly outcome: TaskOutcome }
  /** The task was deleted, with everything that is kept of it. */
  | { readonly state: 'forgotten'; readonly key: string };

/** The record of an attempt. */
export interface JournalRecord {
  readonly request: TaskRequest;
  readonly claim?: string;
  readonly since?: Moment;
  readonly outcome?: TaskOutcome;
}

/** How many attempts that have ended are remembered, so that none is run again when the control plane repeats itself. */
const remembered = 2_000;

/** An append-only file of what the agent has begun and ended. A line counts once it is on the disk. */
export class Journal implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #records: Map<string, JournalRecord>;
  #waiting: { readonly line: string; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  #writing: Promise<void> | undefined;

  private constructor(handle: FileHandle, records: Map<string, JournalRecord>) {
    this.#handle = handle;
    this.#records = records;
  }

  /** Reads the journal and leaves out what is no longer needed. An unfinished last line is ignored: its write was never confirmed. */
  static async open(file: string): Promise<Journal> {
    const records = recordsIn(await readFile(file, 'utf8').catch(ignoreMissing));
    forgetOldest(records);
    const fresh = `${file}.new`;
    const handle = await open(fresh, 'w', 0o600);
    try {
      await handle.writeFile([...records].flatMap(([key, record]) => entriesOf(key, record).map(lineOf)).join(''));
      await handle.sync();
      await rename(fresh, file);
      await syncDirectory(dirname(file));
    } catch (error) {
      await handle.close();
      throw error;
    }
    return new Journal(handle, records);
  }

  get records(): ReadonlyMap<string, JournalRecord> {
    return this.#records;
  }

  /** Resolves when the entry is on the disk. Entries that arrive during a write are written together. */
  append(entry: JournalEntry): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const written = (): void => {
        apply(this.#records, entry);
        resolve();
      };
      this.#waiting.push({ line: lineOf(entry), resolve: written, reject });
      this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
    await this.#handle.close();
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        // The newline first ends a line that an earlier, failed write may have left unfinished.
        await this.#handle.appendFile(`\n${batch.map(({ line }) => line).join('')}`);
        await this.#handle.datasync();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}

const lineOf = (entry: JournalEntry): string => `${JSON.stringify(entry)}\n`;

function recordsIn(text: string): Map<string, JournalRecord> {
  const records = new Map<string, JournalRecord>();
  for (const line of text.split('\n')) {
    const entry = parse(line);
    if (entry !== undefined) apply(records, entry);
  }
  return records;
}

function parse(line: string): JournalEntry | undefined {
  if (line === '') return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && typeof value['key'] === 'string' && typeof value['state'] === 'string'
      ? (value as unknown as JournalEntry)
      : undefined;
  } catch {
    return undefined;
  }
}

function apply(records: Map<string, JournalRecord>, entry: JournalEntry): void {
  const known = records.get(entry.key);
  if (entry.state === 'accepted')
    records.set(entry.key, { request: entry.request, ...(entry.claim !== undefined && { claim: entry.claim }) });
  else if (known === undefined) return;
  else if (entry.state === 'forgotten') records.delete(entry.key);
  else if (entry.state === 'running') records.set(entry.key, { ...known, since: entry.since });
  else records.set(entry.key, { ...known, outcome: entry.outcome });
}

function entriesOf(key: string, { request, claim, since, outcome }: JournalRecord): JournalEntry[] {
  return [
    { state: 'accepted', key, request, ...(claim !== undefined && { claim }) },
    ...(since === undefined ? [] : [{ state: 'running', key, since } as const]),
    ...(outcome === undefined ? [] : [{ state: 'done', key, outcome } as const]),
  ];
}

function forgetOldest(records: Map<string, JournalRecord>): void {
  const ended = [...records].filter(([, { outcome }]) => outcome !== undefined);
  for (const [key] of ended.slice(0, Math.max(0, ended.length - remembered))) records.delete(key);
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}
