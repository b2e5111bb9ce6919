import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from './child.ts';
import { type CommandResult, output, run } from './command.ts';
import { temporaryDirectory } from './temporary.ts';

const program = '/usr/lib/systemd/systemd';
const target = (name: string, more = ''): string => `[Unit]\nDescription=${name}\nDefaultDependencies=no\n${more}`;
/** All units that there are: transient services depend on them. Those of the system would change the kernel's settings and the mounts of this machine. */
const units: Readonly<Record<string, string>> = {
  'default.target': target('Tests', 'Requires=basic.target\nAfter=basic.target\n'),
  'basic.target': target('Basic'),
  'multi-user.target': target('Services'),
  'network-online.target': target('Network'),
  'sysinit.target': target('Initialization'),
  'shutdown.target': target('Shutdown'),
};

/**
 * A machine whose first process is systemd. It has processes, a network, control groups, `/run` and `/etc/systemd` of its own, and shares the other files. It disappears
 * with the test.
 */
export class SystemdMachine implements AsyncDisposable {
  readonly #holder: Child;
  readonly #pid: number;
  readonly #owned: AsyncDisposableStack;

  private constructor(holder: Child, pid: number, owned: AsyncDisposableStack) {
    this.#holder = holder;
    this.#pid = pid;
    this.#owned = owned;
  }

  /** Why none can be started here; undefined if one can. */
  static async problem(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'a machine with systemd needs root';
    if (!existsSync(program)) return `a machine with systemd needs ${program}; on Debian and Ubuntu: apt-get install systemd`;
    if (groupsOfVersion2() === undefined) return 'a machine with systemd needs control groups of version 2';
    try {
      await using _probe = await SystemdMachine.start();
      return undefined;
    } catch (error) {
      return `systemd cannot be started in namespaces here: ${(error as Error).message.split('\n')[0]}`;
    }
  }

  static async start(): Promise<SystemdMachine> {
    await using owned = new AsyncDisposableStack();
    const directory = owned.use(temporaryDirectory('systemd'));
    const folder = directory.join('units');
    for (const empty of ['units', 'none']) mkdirSync(directory.join(empty), { recursive: true });
    for (const [name, text] of Object.entries(units)) writeFileSync(join(folder, name), text);
    writeFileSync(directory.join('machine-id'), `${'0123456789abcdef'.repeat(2)}\n`);
    const group = join(groupsOfVersion2()!, `capstan-systemd-${process.pid}-${Date.now()}`);
    mkdirSync(group);
    owned.defer(() => removeGroup(group));
    const none = directory.join('none');
    const environment = `container=capstan PATH=/usr/bin:/usr/sbin SYSTEMD_UNIT_PATH=/etc/systemd/system:${folder} SYSTEMD_GENERATOR_PATH=${none} SYSTEMD_ENVIRONMENT_GENERATOR_PATH=${none}`;
    const boot = [
      'mount --make-rprivate /',
      'mount -t proc proc /proc',
      'umount -R /sys/fs/cgroup',
      'mount -t cgroup2 cgroup2 /sys/fs/cgroup',
      'mount -t tmpfs tmpfs /run',
      'mount -t tmpfs tmpfs /etc/systemd',
      'mkdir /etc/systemd/system',
      `{ [ ! -e /etc/machine-id ] || mount --bind ${directory.join('machine-id')} /etc/machine-id; }`,
      `exec env -i ${environment} ${program} --system --log-target=null --show-status=no --unit=default.target`,
    ].join(' && ');
    const holder = new Child('systemd', [
      ...['setpriv', '--pdeathsig', 'KILL', 'sh', '-c', 'echo $$ > "$0" && exec "$@"', `${group}/cgroup.procs`],
      ...['unshare', '--mount', '--pid', '--cgroup', '--net', '--uts', '--ipc', '--fork', '--kill-child', 'sh', '-c', boot],
    ]);
    owned.defer(() => holder.kill());
    let pid = 0;
    await holder.waitUntil(
      'systemd',
      async () => {
        pid = Number(readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim().split(' ')[0]);
        if (pid === 0 || !existsSync(`/proc/${pid}/root/run/systemd/private`)) return false;
        return (await run('nsenter', enter(pid, ['systemctl', 'is-active', '--quiet', 'default.target']))).code === 0;
      },
      30_000,
    );
    owned.defer(async () => void (await run('kill', ['-KILL', String(pid)])));
    return new SystemdMachine(holder, pid, owned.move());
  }

  /** Runs a program on the machine to its end. */
  run(...command: readonly string[]): Promise<CommandResult> {
    return run('nsenter', enter(this.#pid, command), { timeout: 300_000 });
  }

  /** Wraps a command so that it runs on the machine. */
  command(...command: readonly string[]): readonly [string, ...string[]] {
    return ['nsenter', ...enter(this.#pid, command)];
  }

  get running(): boolean {
    return this.#holder.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

function enter(pid: number, command: readonly string[]): string[] {
  return ['--target', String(pid), '--mount', '--pid', '--cgroup', '--net', '--uts', '--ipc', '--', ...command];
}

function groupsOfVersion2(): string | undefined {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts.map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2')?.[1];
}

/** From the inside out; the processes of a killed machine leave their groups a little later. */
async function removeGroup(group: string): Promise<void> {
  for (let tries = 0; existsSync(group) && tries < 100; tries++) {
    await output('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']).catch(() => '');
    if (existsSync(group)) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
