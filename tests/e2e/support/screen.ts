import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

const kept = 512 << 10;

/** A program in a terminal of 40 lines and 170 columns, with the keys that a person presses. */
export class Screen implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #output = '';

  constructor(command: readonly string[], environment: Readonly<Record<string, string>>) {
    const line = `stty rows 40 cols 170; exec ${command.map(quoted).join(' ')}`;
    this.#child = spawn('script', ['-qefc', line, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm-256color', ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#exited = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.#output = (this.#output + text).slice(-kept)));
  }

  /** Presses keys, and forgets what was shown until then. */
  press(keys: string): void {
    this.#output = '';
    this.#child.stdin!.write(keys);
  }

  /** Resolves when all of these texts have been shown since the last keys. */
  async shows(...texts: readonly string[]): Promise<void> {
    for (const end = Date.now() + 60_000; ; await sleep(100)) {
      const shown = stripVTControlCharacters(this.#output);
      if (texts.every((text) => shown.includes(text))) return;
      if (Date.now() > end) throw new Error(`expected ${texts.join(', ')} on the screen, found:\n${shown.slice(-4_000)}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    await Promise.race([this.#exited, sleep(5_000, undefined, { ref: false })]);
    this.#child.kill('SIGKILL');
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
