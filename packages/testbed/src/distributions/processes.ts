import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A part that takes longer than this to become ready, in milliseconds, has failed. */
const patience = 180_000;

/** The programs that this one runs. All of them end with it, and it ends with each of them, as in one process. */
export class Processes {
  readonly #running = new Map<string, ChildProcess>();
  #isEnding = false;

  start(
    name: string,
    command: readonly string[],
    { environment = {}, log }: { environment?: Readonly<Record<string, string>>; log?: string } = {},
  ): void {
    console.log(`starting ${name}`);
    const output = log === undefined ? 'inherit' : openSync(log, 'a');
    // They end even if this program is killed, and do not begin if it was killed meanwhile.
    const guarded = ['sh', '-c', '[ "$PPID" = "$0" ] && exec "$@"', String(process.pid), ...command];
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...guarded], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', output, output],
    });
    if (typeof output === 'number') closeSync(output);
    this.#running.set(name, child);
    child.on('exit', (code, signal) => {
      this.#running.delete(name);
      if (this.#isEnding) return;
      console.error(`${name} exited: ${code ?? signal}`);
      void this.end().then(() => process.exit(1));
    });
  }

  /** Ends all, the last first. */
  async end(): Promise<void> {
    this.#isEnding = true;
    for (const child of [...this.#running.values()].reverse()) {
      // Everything may have been asked to end at once.
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
      await ended;
      clearTimeout(timer);
    }
  }
}

/** Asks until the answer is true. */
export async function until(title: string, ask: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + patience;
  for (let last: unknown; ; await sleep(200)) {
    try {
      if (await ask()) return;
    } catch (error) {
      if (String(error) !== String(last)) console.log(`waiting for ${title}: ${String(error)}`);
      last = error;
    }
    if (Date.now() > end) throw new Error(`${title} took too long: ${String(last)}`);
  }
}
