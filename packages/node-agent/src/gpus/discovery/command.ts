import { type ChildProcess, spawn } from 'node:child_process';
import { excerpt, GpuError } from '../errors.ts';

export interface CommandOptions {
  /** In milliseconds. */
  readonly timeout: number;
  /** In bytes, of both streams together. */
  readonly maxOutput: number;
  /** Gives up on all running programs. */
  readonly signal?: AbortSignal;
}

/** Both streams of a program in the order in which they came. Tools of vendors print errors on either, and exit with 0 or not as they like. */
export interface CommandResult {
  readonly output: string;
  /** Null after a signal. */
  readonly exitCode: number | null;
}

export type RunCommand = (program: string, args: readonly string[]) => Promise<CommandResult>;

export const defaultCommandOptions: CommandOptions = { timeout: 10_000, maxOutput: 8 * 1024 * 1024 };

/**
 * Runs programs without a shell. A program that hangs is killed, and its caller gets an error whether it ends or not: a process that waits for a broken driver
 * ignores even SIGKILL. While such a process lives, the same program is not started again, so that they do not pile up.
 */
export function commandRunner(options: CommandOptions = defaultCommandOptions): RunCommand {
  const stuck = new Map<string, ChildProcess>();
  return (program, args) => {
    const key = [program, ...args].join(' ');
    const earlier = stuck.get(program);
    if (earlier !== undefined) {
      return Promise.reject(new GpuError('ToolStuck', `${program} (process ${earlier.pid}) was killed and still waits for the driver`));
    }
    return new Promise((resolve, reject) => {
      // Without colours and translations; PATH finds the tool and its helpers.
      const child = spawn(program, [...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TERM: 'dumb' },
      });
      const parts: Buffer[] = [];
      let size = 0;
      let isOver = false;
      const end = (settle: () => void): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        options.signal?.removeEventListener('abort', stop);
        settle();
      };
      const giveUp = (error: GpuError): void => {
        end(() => {
          stuck.set(program, child);
          child.kill('SIGKILL');
          // A process that does not end must not keep the agent alive.
          child.stdout.destroy();
          child.stderr.destroy();
          child.unref();
          reject(error);
        });
      };
      const timer = setTimeout(
        () => giveUp(new GpuError('ToolTimeout', `${key} did not end within ${options.timeout} ms and was killed`)),
        options.timeout,
      );
      const stop = (): void => giveUp(new GpuError('ToolFailed', `${key} was stopped with the agent`));
      options.signal?.addEventListener('abort', stop);
      if (options.signal?.aborted === true) stop();
      const collect = (part: Buffer): void => {
        size += part.length;
        if (size <= options.maxOutput) parts.push(part);
        else giveUp(new GpuError('OutputTooLarge', `${key} printed more than ${options.maxOutput} bytes and was killed`));
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      child.on('exit', () => {
        if (stuck.get(program) === child) stuck.delete(program);
      });
      child.on('error', (cause) => end(() => reject(new GpuError('ToolMissing', `${program}: ${excerpt(cause.message)}`, { cause }))));
      child.on('close', (exitCode) => end(() => resolve({ output: Buffer.concat(parts).toString('utf8'), exitCode })));
    });
  };
}
