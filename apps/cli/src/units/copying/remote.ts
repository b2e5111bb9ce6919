import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { type CommandResult, RemoteCommand, sendInput } from '../streams/command.ts';
import type { UnitPod } from '../streams/pod.ts';

/** Keeps everything, or only the end, of what is written. */
export class Collected extends Writable {
  #bytes: Buffer = Buffer.alloc(0);
  readonly #most: number;

  constructor(most = 4000) {
    super();
    this.#most = most;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const all = Buffer.concat([this.#bytes, chunk]);
    this.#bytes = all.subarray(Math.max(0, all.length - this.#most));
    done();
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  get text(): string {
    return this.#bytes.toString();
  }
}

export interface Answer extends CommandResult {
  readonly output: Buffer;
}

const longestAnswer = 64 << 20;

/** Runs a command in the unit. Rejects if the connection is lost. */
export async function ask(pod: UnitPod, command: readonly string[], input?: AsyncIterable<Buffer>): Promise<Answer> {
  const output = new Collected(longestAnswer);
  const query = { command, stdin: input !== undefined, stdout: true, stderr: true, tty: false };
  const remote = await RemoteCommand.begin(pod, query, { stdout: output, stderr: new Collected() });
  if (input !== undefined) await sendInput(remote, input);
  return { ...(await remote.result), output: output.bytes };
}

/** A file in the unit. */
export interface RemoteFile {
  readonly size: number;
  /** In seconds. */
  readonly modified: number;
}

export interface RemoteEntry extends RemoteFile {
  /** Relative, as a string of bytes. */
  readonly path: string;
  readonly isFile: boolean;
  /** Permission bits. */
  readonly mode: number;
}

/** Paths go through the input: names of files need not be UTF-8, as words of a command must be. */
async function* lines(paths: readonly string[]): AsyncGenerator<Buffer> {
  yield Buffer.from(paths.map((path) => `${path}\n`).join(''), 'latin1');
}

/** The files at these paths, which are strings of bytes. Undefined if the unit lacks the programs that tell. */
export async function filesThere(pod: UnitPod, paths: readonly string[]): Promise<(RemoteFile | undefined)[] | undefined> {
  const script = 'while IFS= read -r path; do stat -c "%s %Y" -- "$path" 2>/dev/null || echo; done';
  const { code, output } = await ask(pod, ['sh', '-c', script], lines(paths));
  const found = output.toString('latin1').split('\n').slice(0, -1);
  if (code !== 0 || found.length !== paths.length) return undefined;
  return found.map((line) => {
    const [size, modified] = line.split(' ').map(Number);
    return line === '' ? undefined : { size: size!, modified: modified! };
  });
}

/** Everything below a path of the unit, parents first. Undefined if the unit lacks the programs that tell, or a name has a line break. */
export async function treeThere(pod: UnitPod, folder: string, name: string): Promise<RemoteEntry[] | undefined> {
  const script = 'cd -- "$1" && exec find "./$2" -exec stat -c "%s %Y %f %n" {} +';
  const { code, output } = await ask(pod, ['sh', '-c', script, 'sh', folder, name]);
  if (code !== 0) return undefined;
  const entries = output
    .toString('latin1')
    .split('\n')
    .slice(0, -1)
    .map((line): RemoteEntry | undefined => {
      const [, size, modified, mode, path] = /^(\d+) (-?\d+) ([0-9a-f]+) \.\/(.+)$/.exec(line) ?? [];
      if (path === undefined) return undefined;
      const bits = Number.parseInt(mode!, 16);
      return { path, size: Number(size), modified: Number(modified), mode: bits & 0o777, isFile: (bits & 0o170000) === 0o100000 };
    });
  return entries.every((entry) => entry !== undefined) ? entries : undefined;
}

/** The checksum of the first bytes of a file of the unit; undefined if it cannot be told. */
export async function checksumThere(pod: UnitPod, path: string, length: number): Promise<string | undefined> {
  const script = 'IFS= read -r path && head -c "$1" -- "$path" | sha256sum';
  const { code, output } = await ask(pod, ['sh', '-c', script, 'sh', String(length)], lines([path]));
  return code === 0 ? /^[0-9a-f]{64}/.exec(output.toString('latin1'))?.[0] : undefined;
}

/** The same of bytes here. */
export async function checksumOf(source: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of source) hash.update(part);
  return hash.digest('hex');
}
