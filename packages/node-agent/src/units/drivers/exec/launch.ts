import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { UnitProblem } from '../driver.ts';
import { decodePairs, encodePairs, type Pair } from './pairs.ts';

export interface LauncherProgram {
  readonly perl: string;
  readonly file: string;
}

type Launcher = ChildProcessByStdio<Writable, Readable, null>;

/** In milliseconds. */
const longest = 60_000;

/** In milliseconds: the fork of an agent takes a while, in which it would not send the first output of the program that has just started. */
const spareAfter = 200;

/** Launchers that wait for a unit, by their program: starting Perl takes longer than everything else. They end with the agent. */
const spares = new Map<string, Launcher>();

/**
 * Starts a launcher and waits until the program runs. The room is built while the agent makes its records safe; the program waits for that.
 * Rejects with a UnitProblem, and then nothing is left of it but its folder.
 */
export async function launch(program: LauncherProgram, spec: readonly Pair[], recorded: Promise<unknown>): Promise<void> {
  const spare = spares.get(program.file);
  spares.delete(program.file);
  const child = spare?.exitCode === null ? spare : begin(program);
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (error) =>
      reject(new UnitProblem('DriverUnavailable', `the launcher cannot be started: ${error.message}`, { cause: error })),
    );
  });
  failed.catch(() => {});
  const pairs = encodePairs(spec);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(pairs.length);
  child.stdin.write(Buffer.concat([length, pairs]));
  // Without the byte, the launcher gives up.
  const permitted = recorded.then(
    () => void child.stdin.end('g'),
    (error: unknown) => {
      child.stdin.end();
      throw error;
    },
  );
  permitted.catch(() => {});
  const timer = setTimeout(() => child.kill('SIGKILL'), longest);
  try {
    const answer = await Promise.race([text(child.stdout), failed]);
    await permitted;
    if (!answer.startsWith('started\0')) throw problemOf(answer);
  } finally {
    clearTimeout(timer);
  }
  setTimeout(() => {
    if (!spares.has(program.file)) spares.set(program.file, begin(program));
  }, spareAfter).unref();
}

function begin({ perl, file }: LauncherProgram): Launcher {
  const child = spawn(perl, [file], { detached: true, stdio: ['pipe', 'pipe', 'ignore'], cwd: '/', env: {} });
  child.unref();
  for (const stream of [child.stdin, child.stdout]) {
    stream.on('error', () => {});
    (stream as { unref?: () => void }).unref?.();
  }
  child.on('error', () => {});
  return child;
}

function problemOf(answer: string): UnitProblem {
  const fault = decodePairs(`${answer}\0`);
  const reason = fault.get('reason');
  if (reason === undefined) return new UnitProblem('DriverUnavailable', 'the launcher ended before the program started');
  return new UnitProblem(reason as UnitProblem['reason'], fault.get('message') ?? reason, { isFinal: fault.get('final') === '1' });
}
