import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

export interface LogFileOptions {
  readonly file: string;
  /** In bytes. The file is rotated before it grows beyond this. */
  readonly maxSize?: number;
  readonly maxBackups?: number;
  /** In days. */
  readonly maxAge?: number;
  /** Called for the first failure of a series. Requests are still served. */
  readonly onError: (error: Error) => void;
  readonly now?: () => Date;
}

/** The most data that may wait for the disk. Beyond it, lines are dropped and counted. */
const maxPendingBytes = 16 * 1024 * 1024;
const day = 24 * 60 * 60 * 1000;

/**
 * An append-only file of lines, with rotation. Lines of one turn of the event loop, and those that arrive during a write, are written
 * together.
 */
export class LogFile implements AsyncDisposable {
  readonly #options: Required<LogFileOptions>;
  #pending: string[] = [];
  #pendingBytes = 0;
  #waiting: (() => void)[] = [];
  #isScheduled = false;
  #isFailing = false;
  #writing: Promise<void> = Promise.resolve();
  #handle: FileHandle | undefined;
  #size = 0;
  /** A failed write may have left a partial line. */
  #mayBeTorn = false;
  #dropped = 0;
  #isDisposed = false;

  constructor(options: LogFileOptions) {
    this.#options = { maxSize: 100 * 1024 * 1024, maxBackups: 10, maxAge: 30, now: () => new Date(), ...options };
  }

  /** The number of lines lost because the disk was full, failing or too slow. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Never throws and never waits. `done` is called when the line is in the file or known to be lost. */
  write(line: string, done?: () => void): void {
    if (this.#pendingBytes + line.length > maxPendingBytes) {
      this.#dropped++;
      this.#fail(
        new Error(
          `${this.#options.file}: ${maxPendingBytes} bytes wait to be written, further lines are dropped until the disk catches up`,
        ),
      );
      done?.();
      return;
    }
    this.#pending.push(line);
    if (done !== undefined) this.#waiting.push(done);
    this.#pendingBytes += line.length;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#writing = this.#writing.then(() => this.#flush());
    });
  }

  /** Resolves when all earlier lines are in the file or dropped. */
  async flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#flush());
    await this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.flush();
    await this.#close();
  }

  async #close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false;
    const lines = this.#pending;
    if (lines.length === 0) return;
    const waiting = this.#waiting;
    this.#pending = [];
    this.#waiting = [];
    this.#pendingBytes = 0;
    const bytes = Buffer.from(this.#mayBeTorn ? `\n${lines.join('')}` : lines.join(''));
    try {
      const handle = await this.#readyFor(bytes.length);
      await handle.appendFile(bytes);
      this.#size += bytes.length;
      this.#isFailing = false;
      this.#mayBeTorn = false;
    } catch (error) {
      this.#dropped += lines.length;
      this.#mayBeTorn = this.#handle !== undefined;
      this.#fail(new Error(`${this.#options.file} cannot be written: ${(error as Error).message}`, { cause: error }));
    }
    // Streams that end last are recorded after everything else.
    if (this.#isDisposed) await this.#close();
    for (const done of waiting) done();
  }

  #fail(error: Error): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onError(error);
  }

  async #readyFor(bytes: number): Promise<FileHandle> {
    const { file, maxSize } = this.#options;
    if (this.#handle !== undefined && this.#size > 0 && this.#size + bytes > maxSize) await this.#rotate();
    if (this.#handle === undefined) {
      await mkdir(dirname(file), { recursive: true });
      this.#handle = await open(file, 'a', 0o600);
      this.#size = (await this.#handle.stat()).size;
      if (this.#size > 0 && this.#size + bytes > maxSize) {
        await this.#rotate();
        return this.#readyFor(bytes);
      }
    }
    return this.#handle;
  }

  async #rotate(): Promise<void> {
    await this.#close();
    const { file, now } = this.#options;
    await rename(file, `${this.#stem()}-${now().toISOString().replaceAll(':', '-').slice(0, 23)}${extname(file)}`);
    await this.#removeOldBackups();
  }

  #stem(): string {
    const { file } = this.#options;
    return file.slice(0, file.length - extname(file).length);
  }

  async #removeOldBackups(): Promise<void> {
    const { file, maxBackups, maxAge, now } = this.#options;
    const oldest = now().getTime() - maxAge * day;
    const prefix = `${basename(this.#stem())}-`;
    const isOld = (path: string): boolean => backupTime(basename(path), prefix, extname(file)) < oldest;
    await Promise.all((await backupsOf(file)).filter((path, index) => index >= maxBackups || isOld(path)).map((path) => unlink(path)));
  }
}

/** The rotated parts of a log file, newest first. */
export async function backupsOf(file: string): Promise<string[]> {
  const extension = extname(file);
  const prefix = `${basename(file).slice(0, basename(file).length - extension.length)}-`;
  return (await readdir(dirname(file)))
    .map((name) => ({ name, time: backupTime(name, prefix, extension) }))
    .filter(({ time }) => !Number.isNaN(time))
    .sort((left, right) => right.time - left.time)
    .map(({ name }) => join(dirname(file), name));
}

/** NaN if the file is not a backup. */
function backupTime(name: string, prefix: string, extension: string): number {
  if (!name.startsWith(prefix) || !name.endsWith(extension)) return Number.NaN;
  const match = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(name.slice(prefix.length, name.length - extension.length));
  return match === null ? Number.NaN : Date.parse(`${match[1]}:${match[2]}:${match[3]}Z`);
}
