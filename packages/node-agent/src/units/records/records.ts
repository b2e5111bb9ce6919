import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '@capstan/machinery';
import { UnitProblem } from '../drivers/driver.ts';
import { isUnitName, type UnitRecord } from './record.ts';
import { RememberedNames } from './remembered.ts';

/** How many removed units are remembered, so that none is started again by a control plane that was restored from a snapshot. */
const remembered = 10_000;
const recordFile = 'record.json';
/** The record of a unit as it was accepted, until there is a later one. */
const firstFile = 'first.json';
const forgottenFile = 'forgotten';

/** The records of units, a folder for each. A record counts once it is on the disk. */
export class UnitRecords implements AsyncDisposable {
  readonly #directory: string;
  readonly #records: Map<string, UnitRecord>;
  readonly #forgotten: RememberedNames;

  private constructor(directory: string, read: { records: Map<string, UnitRecord>; forgotten: RememberedNames }) {
    this.#directory = directory;
    this.#records = read.records;
    this.#forgotten = read.forgotten;
  }

  static async open(directory: string, log: (line: string) => void = () => {}): Promise<UnitRecords> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const records = new Map<string, UnitRecord>();
    const broken: string[] = [];
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (!entry.isDirectory() || !isUnitName(entry.name)) continue;
      const record = await readRecord(join(directory, entry.name)).catch((error: unknown) => {
        log(
          `the record of unit ${entry.name} cannot be read, so the unit is lost: ${error instanceof Error ? error.message : String(error)}`,
        );
        broken.push(entry.name);
        return undefined;
      });
      if (record !== undefined) records.set(entry.name, record);
    }
    const forgotten = await RememberedNames.open({ file: join(directory, forgottenFile), limit: remembered, isName: isUnitName });
    for (const name of broken) forgotten.note(name);
    return new UnitRecords(directory, { records, forgotten });
  }

  get all(): ReadonlyMap<string, UnitRecord> {
    return this.#records;
  }

  /** Whether there was a unit of this name, whose record was removed or cannot be read. */
  isForgotten(name: string): boolean {
    return this.#forgotten.has(name);
  }

  /** The folder of a unit, for its record, its uploads and the logs that outlive it. */
  folder(name: string): string {
    return join(this.#directory, name);
  }

  /** Resolves when the record is on the disk. Rejects with a UnitProblem if it cannot be written; the record before it is then still there. */
  async write(record: UnitRecord): Promise<void> {
    const folder = this.folder(record.name);
    const text = JSON.stringify(record);
    try {
      const isNew = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
      await (isNew ? this.#writeFirst(folder, text) : replaceRecord(folder, text));
    } catch (error) {
      throw recordProblem(error);
    }
    this.#records.set(record.name, record);
  }

  /** Everything gets to the disk at the same time, and not in order: half a record means that the unit was never accepted. */
  async #writeFirst(folder: string, text: string): Promise<void> {
    try {
      const handle = await open(join(folder, firstFile), 'w', 0o600);
      try {
        await handle.writeFile(text);
        await Promise.all([handle.sync(), syncFolder(folder), syncFolder(this.#directory)]);
      } finally {
        await handle.close();
      }
    } catch (error) {
      await rm(folder, { recursive: true, force: true }).catch(() => {});
      throw error;
    }
  }

  /** Deletes a record with everything in its folder, and remembers the name. */
  async forget(name: string): Promise<void> {
    if (!this.#forgotten.has(name)) await this.#forgotten.add(name);
    await rm(this.folder(name), { recursive: true, force: true });
    this.#records.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#forgotten[Symbol.asyncDispose]();
  }
}

async function readRecord(folder: string): Promise<UnitRecord | undefined> {
  const text = await readFile(join(folder, recordFile), 'utf8').catch(ignoreMissing);
  if (text === '') return firstRecord(await readFile(join(folder, firstFile), 'utf8').catch(ignoreMissing));
  return checkedRecord(JSON.parse(text));
}

/** Undefined if it never got to the disk as a whole. */
function firstRecord(text: string): UnitRecord | undefined {
  try {
    return checkedRecord(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function checkedRecord(value: unknown): UnitRecord {
  if (!isObject(value) || value['version'] !== 1 || !isObject(value['state'])) throw new Error('it is no record of this version');
  return value as unknown as UnitRecord;
}

async function replaceRecord(folder: string, text: string): Promise<void> {
  const fresh = join(folder, `${recordFile}.new`);
  try {
    await writeSynced(fresh, text);
    await rename(fresh, join(folder, recordFile));
    await syncFolder(folder);
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => {});
    throw error;
  }
}

function recordProblem(error: unknown): UnitProblem {
  const { code, message } = error as NodeJS.ErrnoException;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new UnitProblem('DiskFull', isFull ? 'the disk of the node is full' : `the node cannot write its record of the unit: ${message}`, {
    cause: error,
  });
}

export async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function syncFolder(path: string): Promise<void> {
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
