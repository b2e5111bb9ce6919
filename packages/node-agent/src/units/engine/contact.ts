import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '@capstan/machinery';
import { type Moment, passedBetween } from '../../time/moment.ts';

/** In milliseconds: the contact on the disk is at most so much older than the last one. */
const storeEvery = 2_000;

/** In bytes, of the stored contact. */
const fileLength = 160;

/**
 * The time of the last contact with the control plane. Agents that start later count from the one on the disk, which may be a little older: they
 * end programs too early rather than too late.
 */
export class LastContact {
  readonly #file: string;
  #last: Moment;
  #stored: Moment | undefined;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: string, last: Moment, stored: Moment | undefined) {
    this.#file = file;
    this.#last = last;
    this.#stored = stored;
  }

  static async open(file: string, now: Moment): Promise<LastContact> {
    const stored = await readContact(file);
    const contact = new LastContact(file, stored ?? now, stored);
    // Without a file, there was never a unit to end either; guards need one.
    if (stored === undefined) contact.record(now);
    await contact.settled();
    return contact;
  }

  /** The control plane has answered a request that was sent at this time. */
  record(at: Moment): void {
    this.#last = at;
    if (this.#stored !== undefined && this.#stored.boot === at.boot && passedBetween(this.#stored, at) < storeEvery) return;
    this.#stored = at;
    this.#writing = this.#writing.then(() => this.#write(at));
  }

  /** In milliseconds. Infinity after a restart of the machine without a contact since: nobody knows how long that took. */
  age(now: Moment): number {
    return now.boot === this.#last.boot ? passedBetween(this.#last, now) : Number.POSITIVE_INFINITY;
  }

  async settled(): Promise<void> {
    await this.#writing;
  }

  /** A contact that is not stored only makes the next agent more careful. */
  async #write(at: Moment): Promise<void> {
    // All have the same length, so that one can take the place of another.
    const text = JSON.stringify(at).padEnd(fileLength);
    try {
      await writeFile(`${this.#file}.new`, text, { mode: 0o600 });
      await rename(`${this.#file}.new`, this.#file);
    } catch {
      // On a full disk, guards must not take a node for cut off.
      await overwrite(this.#file, text).catch(() => (this.#stored = undefined));
    }
  }
}

/** Where agents store their contacts. */
export const contactFile = (stateDirectory: string): string => join(stateDirectory, 'units', 'contact');

/** The contact on the disk; undefined if there is none. */
export function readContact(file: string): Promise<Moment | undefined> {
  return readFile(file, 'utf8').then(parse, () => undefined);
}

async function overwrite(path: string, text: string): Promise<void> {
  await using file = await open(path, 'r+');
  await file.write(text, 0);
}

function parse(text: string): Moment | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && typeof value['boot'] === 'string' && typeof value['uptime'] === 'number' && typeof value['wall'] === 'number'
      ? (value as unknown as Moment)
      : undefined;
  } catch {
    return undefined;
  }
}
