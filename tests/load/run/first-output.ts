import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A command that prints something, as somebody at a terminal would run it. */
export interface PrintingCommand {
  readonly words: readonly [string, ...string[]];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs a command to its end. Returns the milliseconds from before its start to its first output; rejects if it fails. */
export async function timeToFirstOutput({ words: [program, ...args], environment }: PrintingCommand): Promise<number> {
  const began = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment }, timeout: 60_000 });
  let first: number | undefined;
  let complaint = '';
  child.stdout.on('data', () => (first ??= performance.now()));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0 || first === undefined) throw new Error(`${program} ${args.join(' ')} exited with ${code}: ${complaint.trim()}`);
  return first - began;
}
