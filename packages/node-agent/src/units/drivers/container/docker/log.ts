import { appendFile, readFile, rename, stat, truncate } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { BoxOutput } from '../box-output.ts';
import type { LogBounds } from '../dialect.ts';
import { type Engine, EngineError } from '../engine.ts';
import { LogCursor } from './cursor.ts';
import { lineOf, MessageReader } from './messages.ts';

export interface DockerLogSource {
  readonly engine: Engine;
  /** Of the container, in the API. */
  readonly path: string;
  readonly log: LogBounds;
}

/** In characters: the time and the stream in front of a line. */
const longestHead = 64;

/**
 * The output of a container of Docker, which keeps it in a format and a place of its own. The agent copies it into files in the folder of the unit. An
 * agent that starts again goes on after the last line there; Docker keeps the output until then.
 */
export class DockerLog implements BoxOutput {
  /** By folder: nobody else may write there. */
  static readonly #open = new Map<string, DockerLog>();
  readonly #folder: string;
  readonly #source: DockerLogSource;
  #following: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  #cursor: Promise<LogCursor> | undefined;
  /** Two copies at once would write lines twice. */
  #finishing: Promise<void> | undefined;

  private constructor(folder: string, source: DockerLogSource) {
    this.#folder = folder;
    this.#source = source;
  }

  static in(folder: string, source: DockerLogSource): DockerLog {
    let log = DockerLog.#open.get(folder);
    if (log === undefined) DockerLog.#open.set(folder, (log = new DockerLog(folder, source)));
    return log;
  }

  keep(): void {
    if (this.#following !== undefined || this.#finishing !== undefined) return;
    const stop = new AbortController();
    // It begins again at the next look if the engine goes away.
    const ended = this.#copy(true, stop.signal)
      .catch(() => {})
      .then(() => {
        if (this.#following?.stop === stop) this.#following = undefined;
      });
    this.#following = { stop, ended };
  }

  finish(): Promise<void> {
    this.#finishing ??= this.#copyRest().catch((error: unknown) => {
      this.#finishing = undefined;
      throw error;
    });
    return this.#finishing;
  }

  async #copyRest(): Promise<void> {
    await this.#stop();
    await this.#copy(false, AbortSignal.timeout(60_000)).catch((error: unknown) => {
      if (!(error instanceof EngineError) || error.status !== 404) throw error;
    });
  }

  close(): void {
    void this.#stop();
    DockerLog.#open.delete(this.#folder);
  }

  async files(): Promise<string[]> {
    const names = Array.from({ length: this.#source.log.files }, (_, index) => this.#file(index)).reverse();
    const sizes = await Promise.all(names.map(sizeOf));
    return names.filter((_name, index) => sizes[index] !== undefined);
  }

  async #stop(): Promise<void> {
    const following = this.#following;
    following?.stop.abort();
    await following?.ended;
  }

  async #copy(follow: boolean, signal: AbortSignal): Promise<void> {
    const { engine, path } = this.#source;
    this.#cursor ??= this.#recover();
    const cursor = await this.#cursor;
    const { Config } = await engine.call<{ readonly Config: { readonly Tty: boolean } }>({ path: `${path}/json`, signal });
    const since = cursor.begin();
    const query = `stdout=1&stderr=1&timestamps=1&follow=${follow ? 1 : 0}${since === undefined ? '' : `&since=${since}`}`;
    const answer: IncomingMessage = await engine.stream({ path: `${path}/logs?${query}`, signal });
    if (follow) answer.socket.unref();
    const reader = new MessageReader(Config.Tty);
    for await (const bytes of answer as AsyncIterable<Buffer>) {
      const lines = reader
        .read(bytes)
        .filter((message) => cursor.take(message))
        .map(lineOf);
      await this.#append(lines);
    }
  }

  async #append(lines: readonly Buffer[]): Promise<void> {
    let waiting: Buffer[] = [];
    let size = (await sizeOf(this.#file(0))) ?? 0;
    const write = async (): Promise<void> => {
      if (waiting.length > 0) await appendFile(this.#file(0), Buffer.concat(waiting), { mode: 0o600 });
      waiting = [];
    };
    for (const line of lines) {
      if (size > 0 && size + line.length > this.#source.log.bytes) {
        await write();
        await this.#rotate();
        size = 0;
      }
      waiting.push(line);
      size += line.length;
    }
    await write();
  }

  async #rotate(): Promise<void> {
    for (let index = this.#source.log.files - 1; index > 0; index--)
      await rename(this.#file(index - 1), this.#file(index)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
  }

  /** Reads how far an earlier agent came. Its last line may have been cut. */
  async #recover(): Promise<LogCursor> {
    const files = await this.files();
    const lines: string[] = [];
    for (const file of files) {
      const text = await readFile(file, 'latin1');
      const end = text.lastIndexOf('\n') + 1;
      if (end < text.length) await truncate(file, end);
      for (const line of text.slice(0, end).split('\n')) lines.push(line.slice(0, longestHead));
    }
    return LogCursor.after(lines, { isCut: files.length >= this.#source.log.files });
  }

  #file(index: number): string {
    return join(this.#folder, index === 0 ? 'output' : `output.${index}`);
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
}
