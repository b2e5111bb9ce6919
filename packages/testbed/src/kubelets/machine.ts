import { readFileSync, readlinkSync } from 'node:fs';
import { Child } from '../child.ts';
import { output, run } from '../command.ts';

/** Reaps orphans, as the first process of a machine must. */
const reaping = ['sh', '-c', 'while :; do sleep 86400 & wait; done'];
const waiting = ['sleep', 'infinity'];

/** Kills a program when the process that started it ends, even if that was killed itself. */
const endsWithParent = ['setpriv', '--pdeathsig', 'KILL'] as const;

type Isolation = 'network' | 'all';

/**
 * A pretended machine: network and mounts, and optionally processes and host name of its own. All of that belongs to one process, so it
 * disappears with that process, and that process ends with the test, however the test ends.
 */
export class Machine implements AsyncDisposable {
  readonly pid: number;
  readonly #holder: Child;
  readonly #isolation: Isolation;

  private constructor(holder: Child, pid: number, isolation: Isolation) {
    this.#holder = holder;
    this.pid = pid;
    this.#isolation = isolation;
  }

  /** Why none can be started here; undefined if one can. */
  static async problem(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'namespaces need root';
    for (const program of ['ip', 'nsenter', 'unshare', 'setpriv'])
      if ((await run(program, ['--version'])).code === -1) return `namespaces need the program ${program}`;
    try {
      await using machine = await Machine.start('probe', 'all');
      await machine.run('ip', 'link', 'set', 'lo', 'up');
      return undefined;
    } catch (error) {
      return `namespaces cannot be created here: ${(error as Error).message}`;
    }
  }

  static async start(name: string, isolation: Isolation): Promise<Machine> {
    const all = ['--uts', '--ipc', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const held = isolation === 'all' ? [...all, ...reaping] : waiting;
    const [last] = isolation === 'all' ? reaping : waiting;
    const holder = new Child(name, [...endsWithParent, 'unshare', '--net', '--mount', ...held]);
    let pid = holder.pid;
    const outside = readlinkSync('/proc/self/ns/net');
    try {
      await holder.waitUntil('its namespaces', () => {
        if (isolation === 'all') pid = childrenOf(holder.pid)[0] ?? holder.pid;
        // That program starts last, when all namespaces are in place.
        return commandOf(pid) === last && readlinkSync(`/proc/${pid}/ns/net`) !== outside;
      });
    } catch (error) {
      await holder.kill();
      throw error;
    }
    const machine = new Machine(holder, pid, isolation);
    if (isolation === 'all') await machine.run('hostname', name);
    return machine;
  }

  /** Wraps a command so that it runs inside. */
  command(...command: readonly string[]): readonly [string, ...string[]] {
    const spaces = this.#isolation === 'all' ? ['--uts', '--ipc', '--pid'] : [];
    return [...endsWithParent, 'nsenter', '--target', String(this.pid), '--net', '--mount', ...spaces, '--', ...command];
  }

  /** Runs a program inside to its end, and returns its output. */
  run(...command: readonly string[]): Promise<string> {
    const [program, ...args] = this.command(...command);
    return output(program, args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Its first process ends it; the holder may be gone already, and its process id be somebody else's.
    if (this.#isolation === 'all' && this.#holder.running) await run('kill', ['-KILL', String(this.pid)]);
    await this.#holder.kill();
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
