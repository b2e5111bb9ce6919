import { spawn } from 'node:child_process';

export interface CommandOptions {
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** The command is killed after this many milliseconds, by default two minutes. */
  readonly timeout?: number;
  /** Ends the command early. */
  readonly signal?: AbortSignal;
  /** Called with each chunk of standard error as it arrives. */
  readonly onError?: (text: string) => void;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end. Never rejects because of an exit code: a program that cannot be started, or is killed, has code -1 and the
 * reason in `stderr`.
 */
export function run(command: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.directory,
      env: { ...process.env, ...options.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: options.timeout ?? 120_000,
      killSignal: 'SIGKILL',
      ...(options.signal && { signal: options.signal }),
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      options.onError?.(text);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    child.on('error', (error) => resolve({ code: -1, stdout, stderr: `${stderr}${error.message}` }));
    child.on('close', (code, signal) => {
      resolve({ code: code ?? -1, stdout, stderr: signal === null ? stderr : `${stderr}\nkilled by ${signal}` });
    });
  });
}

/** Runs a program and returns its standard output; rejects with all its output if it fails. */
export async function output(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await run(command, args, options);
  if (result.code !== 0)
    throw new Error(`${command} ${args.join(' ')} exited with ${result.code}: ${result.stderr.trim() || result.stdout.trim()}`);
  return result.stdout;
}
