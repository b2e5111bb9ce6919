import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ChildOptions {
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const keptOutput = 256 * 1024;

/** A program that runs beside the test. Disposing it sends SIGTERM, then SIGKILL, always to its own process id. */
export class Child implements AsyncDisposable {
  readonly name: string;
  readonly exited: Promise<ExitStatus>;
  readonly #process: ChildProcess;
  #output = '';
  #exit: ExitStatus | undefined;

  constructor(name: string, command: readonly string[], options: ChildOptions = {}) {
    this.name = name;
    const [program, ...args] = command;
    if (program === undefined) throw new Error(`no command given for ${name}`);
    const child = spawn(program, args, {
      cwd: options.directory,
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    const keep = (text: string): void => {
      this.#output = (this.#output + text).slice(-keptOutput);
    };
    child.stdout?.setEncoding('utf8').on('data', keep);
    child.stderr?.setEncoding('utf8').on('data', keep);
    this.exited = new Promise((resolve) => {
      child.on('error', (error) => {
        keep(`${error.message}\n`);
        resolve((this.#exit = { code: -1, signal: null }));
      });
      child.on('exit', (code, signal) => resolve((this.#exit = { code, signal })));
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  /** The end of its standard output and standard error. */
  get output(): string {
    return this.#output;
  }

  signal(name: NodeJS.Signals): void {
    if (this.running) this.#process.kill(name);
  }

  /** Ends it without a chance to clean up, like a power cut. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  /** Stops it until `SIGCONT`. Waits until all its threads have stopped: until then it could still answer. */
  async pause(): Promise<void> {
    this.signal('SIGSTOP');
    await this.waitUntil('it stopped', () => threadStates(this.pid).every((state) => state === 'T'));
  }

  async stop(grace = 5_000): Promise<void> {
    this.signal('SIGTERM');
    await Promise.race([this.exited, sleep(grace, undefined, { ref: false })]);
    await this.kill();
  }

  /** Waits until `ready` returns true; fails if the program ends or the time is up. */
  async waitUntil(what: string, ready: () => Promise<boolean> | boolean, timeout = 60_000): Promise<void> {
    const end = Date.now() + timeout;
    for (;;) {
      if (!this.running) throw new Error(`${this.name} ended before ${what}; output:\n${this.#output.slice(-4000)}`);
      if (await ready()) return;
      if (Date.now() > end)
        throw new Error(`${this.name} did not reach "${what}" within ${timeout} ms; output:\n${this.#output.slice(-4000)}`);
      await sleep(25);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function threadStates(pid: number): string[] {
  const tasks = `/proc/${pid}/task`;
  // The state follows the name, which is in parentheses and may contain some itself.
  return readdirSync(tasks).map((task) =>
    readFileSync(`${tasks}/${task}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .charAt(0),
  );
}
