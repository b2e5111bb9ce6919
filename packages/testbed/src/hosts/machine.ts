import { readFileSync, readlinkSync } from 'node:fs';
import { Child } from '../child.ts';
import { output, run } from '../command.ts';

/** Reaps orphans, as the first process of a machine must. */
const reaping = ['sh', '-c', 'while :; do sleep 86400 & wait; done'];
const waiting = ['sleep', 'infinity'];

/** Kills a program when the process that started it ends, even if that was killed itself. */
const endsWithParent = ['setpriv', '--pdeathsig', 'KILL'] as const;

type Isolation = 'network' | 'all';

export interface MachineOptions {
  readonly isolation: Isolation;
  /** A control group of version 2 for all its processes. Inside, it is the root of all groups. */
  readonly group?: string;
}

/**
 * A pretended machine: network and mounts, and optionally processes and host name of its own. All of that belongs to one process, so it
 * disappears with that process, and that process ends with the test, however the test ends.
 */
export class Machine implements AsyncDisposable {
  readonly pid: number;
  readonly #holder: Child;
  readonly #options: MachineOptions;

  private constructor(holder: Child, pid: number, options: MachineOptions) {
    this.#holder = holder;
    this.pid = pid;
    this.#options = options;
  }

  /** Why none can be started here; undefined if one can. */
  static async problem(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'namespaces need root';
    for (const program of ['ip', 'nsenter', 'unshare', 'setpriv'])
      if ((await run(program, ['--version'])).code === -1) return `namespaces need the program ${program}`;
    try {
      await using machine = await Machine.start('probe', { isolation: 'all' });
      await machine.run('ip', 'link', 'set', 'lo', 'up');
      return undefined;
    } catch (error) {
      return `namespaces cannot be created here: ${(error as Error).message}`;
    }
  }

  static async start(name: string, options: MachineOptions): Promise<Machine> {
    const isAll = options.isolation === 'all';
    const all = ['--uts', '--ipc', '--pid', '--fork', '--kill-child', '--mount-proc', ...reaping];
    const held = isAll ? all : waiting;
    const [last] = isAll ? reaping : waiting;
    const grouped = options.group === undefined ? [] : ['--cgroup'];
    const holder = new Child(name, [...endsWithParent, ...entering(options), 'unshare', '--net', '--mount', ...grouped, ...held]);
    let pid = holder.pid;
    const outside = readlinkSync('/proc/self/ns/net');
    try {
      await holder.waitUntil('its namespaces', () => {
        if (isAll) pid = childrenOf(holder.pid)[0] ?? holder.pid;
        // That program starts last, when all namespaces are in place.
        return commandOf(pid) === last && pid !== (isAll ? holder.pid : 0) && readlinkSync(`/proc/${pid}/ns/net`) !== outside;
      });
    } catch (error) {
      await holder.kill();
      throw error;
    }
    const machine = new Machine(holder, pid, options);
    if (isAll) await machine.run('hostname', name);
    return machine;
  }

  /** Wraps a command so that it runs inside. */
  command(...command: readonly string[]): readonly [string, ...string[]] {
    const { isolation, group } = this.#options;
    const spaces = [...(isolation === 'all' ? ['--uts', '--ipc', '--pid'] : []), ...(group === undefined ? [] : ['--cgroup'])];
    const enter = ['nsenter', '--target', String(this.pid), '--net', '--mount', ...spaces, '--'];
    return [...endsWithParent, ...entering(this.#options), ...enter, ...command];
  }

  /** Runs a program inside to its end, and returns its output. */
  run(...command: readonly string[]): Promise<string> {
    const [program, ...args] = this.command(...command);
    return output(program, args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Its first process ends it; the holder may be gone already, and its process id be somebody else's.
    if (this.#options.isolation === 'all' && this.#holder.running) await run('kill', ['-KILL', String(this.pid)]);
    await this.#holder.kill();
  }
}

/** Joins the group before anything else happens. */
function entering({ group }: MachineOptions): readonly string[] {
  return group === undefined ? [] : ['sh', '-c', 'echo $$ > "$0" && exec "$@"', `${group}/cgroup.procs`];
}

/** Empty if the process has ended. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
