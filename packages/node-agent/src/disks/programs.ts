import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const folders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/local/bin'];

/** A program of the machine has failed. The message has its last words. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
  /** Its exit code; a word if it could not be started. */
  readonly code: number | string | undefined;

  constructor(message: string, options: { readonly code: number | string | undefined; readonly cause: unknown }) {
    super(message, { cause: options.cause });
    this.code = options.code;
  }
}

export interface ProgramOptions {
  readonly signal?: AbortSignal;
  /** Exit codes that mean success. */
  readonly accepted?: readonly number[];
  /** For its standard input, which is empty if this rejects. */
  readonly input?: Promise<string>;
}

export type RunProgram = (name: string, args: readonly string[], options?: ProgramOptions) => Promise<string>;

/** Runs a program of the machine and returns its output. Rejects with a ProgramError. */
export const runProgram: RunProgram = async (name, args, { signal, accepted = [0], input } = {}) => {
  try {
    const running = execute(name, [...args], { env: { PATH: folders.join(':'), LC_ALL: 'C' }, signal, maxBuffer: 1 << 20 });
    if (input !== undefined) {
      const { stdin } = running.child;
      stdin?.on('error', () => {});
      void input.catch(() => '').then((text) => stdin?.end(text));
    }
    return (await running).stdout;
  } catch (error) {
    const { code, stderr = '', stdout = '' } = error as { code?: number | string; stderr?: string; stdout?: string };
    if (typeof code === 'number' && accepted.includes(code)) return stdout;
    signal?.throwIfAborted();
    const words = stderr.trim().split('\n').at(-1) || (error as Error).message;
    throw new ProgramError(`${name} failed on the node: ${words.slice(0, 512)}`, { code, cause: error });
  }
};

/** The first of these programs that the machine does not have. */
export async function missingProgram(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const found = await Promise.all(
      folders.map((folder) =>
        access(join(folder, name), constants.X_OK).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (!found.includes(true)) return name;
  }
  return undefined;
}
