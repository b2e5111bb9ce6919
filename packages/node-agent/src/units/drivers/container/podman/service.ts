import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify } from '../identify.ts';

export interface PodmanServiceOptions {
  /** The program. */
  readonly podman: string;
  /** Holds the socket. */
  readonly directory: string;
  /** For tests: where Podman finds its configuration. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** Paths of sockets have at most 107 bytes. */
const longestPath = 107;
/**
 * In milliseconds: the shortest and the longest pause before the service is started again, how long it may take to answer, and how long the service
 * of an earlier agent may take to end.
 */
const pauses = { first: 100, longest: 10_000 };
const patience = 30_000;
const farewell = 10_000;

/** Podman's API as a child of the agent, which is started again when it ends. Containers do not depend on it. */
export class PodmanService implements AsyncDisposable {
  readonly socketPath: string;
  readonly #options: PodmanServiceOptions;
  readonly #stop = new AbortController();
  #child: ChildProcess | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(options: PodmanServiceOptions) {
    this.#options = options;
    this.socketPath = socketIn(options.directory);
  }

  /** Rejects if Podman does not answer. */
  static async start(options: PodmanServiceOptions): Promise<PodmanService> {
    const service = new PodmanService(options);
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    await mkdir(dirname(service.socketPath), { recursive: true, mode: 0o700 });
    await service.#endPredecessor();
    service.#running = service.#run();
    const until = performance.now() + patience;
    while ((await identify(service.socketPath)) === undefined) {
      if (performance.now() > until) {
        await service[Symbol.asyncDispose]();
        throw new Error(`${options.podman} system service does not answer`);
      }
      await sleep(20);
    }
    return service;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async #run(): Promise<void> {
    const { podman, directory, environment } = this.#options;
    for (let pause = pauses.first; !this.#stop.signal.aborted; pause = Math.min(2 * pause, pauses.longest)) {
      await rm(this.socketPath, { force: true });
      const begun = performance.now();
      const child = spawn(podman, ['system', 'service', '--time=0', `unix://${this.socketPath}`], {
        stdio: 'ignore',
        // Some versions of conmon leave a file behind where they were started.
        cwd: directory,
        env: { ...process.env, ...environment },
      });
      this.#child = child;
      child.unref();
      const ended = once(child, 'exit').catch(() => {});
      if (child.pid !== undefined) await writeFile(join(directory, 'service.pid'), String(child.pid)).catch(() => {});
      if (this.#stop.signal.aborted) child.kill();
      await ended;
      if (performance.now() - begun > pauses.longest) pause = pauses.first;
      await sleep(pause, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
    }
  }

  /** Ends the service of an agent that was killed, and waits for that: it would delete the socket of its successor. */
  async #endPredecessor(): Promise<void> {
    const pid = Number(await readFile(join(this.#options.directory, 'service.pid'), 'utf8').catch(() => '0'));
    const until = performance.now() + farewell;
    for (let isFirst = true; await this.#isServedBy(pid); isFirst = false) {
      const isLate = performance.now() > until;
      if (isFirst || isLate) endProcess(pid, isLate ? 'SIGKILL' : 'SIGTERM');
      await sleep(20);
    }
  }

  async #isServedBy(pid: number): Promise<boolean> {
    const words = pid > 1 ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
    return words.split('\0').includes(`unix://${this.socketPath}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#child?.kill();
    await this.#running;
    await Promise.all([rm(this.socketPath, { force: true }), rm(join(this.#options.directory, 'service.pid'), { force: true })]);
  }
}

function endProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

function socketIn(directory: string): string {
  const path = join(directory, 'podman.sock');
  if (Buffer.byteLength(path) <= longestPath) return path;
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  return join(process.env['XDG_RUNTIME_DIR'] ?? (process.getuid?.() === 0 ? '/run' : tmpdir()), `capstan-${name}`, 'podman.sock');
}
