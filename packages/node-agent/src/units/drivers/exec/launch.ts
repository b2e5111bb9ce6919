import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { UnitProblem } from '../driver.ts';
import { decodePairs, encodePairs, type Pair } from './pairs.ts';

export interface LaunchOptions {
  readonly perl: string;
  readonly file: string;
  /** Where the launcher keeps its records. */
  readonly folder: string;
  readonly spec: readonly Pair[];
}

/** In milliseconds. */
const longest = 60_000;

/** Starts a launcher and waits until the program runs. Rejects with a UnitProblem, and then nothing is left of it but its folder. */
export async function launch({ perl, file, folder, spec }: LaunchOptions): Promise<void> {
  const child = spawn(perl, [file, folder], { detached: true, stdio: ['pipe', 'pipe', 'ignore'], cwd: '/', env: {} });
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (error) =>
      reject(new UnitProblem('DriverUnavailable', `the launcher cannot be started: ${error.message}`, { cause: error })),
    );
  });
  failed.catch(() => {});
  child.unref();
  child.stdin.on('error', () => {});
  child.stdin.end(encodePairs(spec));
  const timer = setTimeout(() => child.kill('SIGKILL'), longest);
  try {
    const answer = await Promise.race([text(child.stdout), failed]);
    if (answer.startsWith('started\0')) return;
    const fault = decodePairs(`${answer}\0`);
    const reason = fault.get('reason');
    if (reason === undefined) throw new UnitProblem('DriverUnavailable', 'the launcher ended before the program started');
    throw new UnitProblem(reason as UnitProblem['reason'], fault.get('message') ?? reason, { isFinal: fault.get('final') === '1' });
  } finally {
    clearTimeout(timer);
  }
}
