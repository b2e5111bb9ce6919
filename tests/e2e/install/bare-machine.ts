import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Child, type CommandResult, output, run } from '@capstan/testbed';

/** The programs of a minimal Debian that the install script and the agent need. Node is not one of them. */
const programs = [
  ...['sh', 'curl', 'tar', 'gzip', 'sha256sum', 'base64', 'mktemp', 'id', 'uname', 'df', 'tail', 'tr', 'cut', 'wc', 'cat', 'mkdir'],
  ...['rm', 'mv', 'ln', 'readlink', 'dirname', 'grep', 'cksum', 'cmp', 'chmod', 'sleep', 'date', 'setsid', 'nohup', 'dd', 'env', 'ls'],
  ...['mount', 'umount', 'setpriv', 'hostname', 'chown', 'touch', 'ps', 'head'],
];
/** Node's own library beside the C library; the package manager of Debian needs it too. */
const libraries = ['/usr/lib/x86_64-linux-gnu/libstdc++.so.6', '/usr/lib/aarch64-linux-gnu/libstdc++.so.6'];
const devices = ['null', 'zero', 'random', 'urandom'];

let made = 0;

/** Two networks that reach each other, and a machine in the second one with processes and files of its own, a root that has no Node. */
export class BareMachine implements AsyncDisposable {
  static readonly serverAddress = '10.99.0.1';
  readonly root: string;
  readonly #holder: Child;
  readonly #pid: number;
  readonly #networks: readonly [server: string, machine: string];

  private constructor(root: string, { holder, pid, networks }: { holder: Child; pid: number; networks: readonly [string, string] }) {
    this.root = root;
    this.#holder = holder;
    this.#pid = pid;
    this.#networks = networks;
  }

  /** Why none can be made here; undefined if one can. */
  static async problem(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'namespaces need root';
    for (const program of ['ip', 'nsenter', 'unshare', 'ldd', ...programs])
      if ((await run('sh', ['-c', `command -v ${program}`])).code !== 0) return `a bare machine needs the program ${program}`;
    const name = `capstan-probe-${process.pid}`;
    const { code, stderr } = await run('ip', ['netns', 'add', name]);
    await run('ip', ['netns', 'delete', name]);
    return code === 0 ? undefined : `namespaces cannot be created here: ${stderr.trim()}`;
  }

  /** `root` is a directory that does not exist. `fill` gives it the programs of the machine. */
  static async start(root: string, fill = fillLikeHere): Promise<BareMachine> {
    const networks = [`capstan-${process.pid}-s${made}`, `capstan-${process.pid}-m${made++}`] as const;
    try {
      await makeRoot(root);
      await fill(root);
      return await BareMachine.#startIn(networks, root);
    } catch (error) {
      for (const name of networks) await run('ip', ['netns', 'delete', name]);
      throw error;
    }
  }

  static async #startIn(networks: readonly [string, string], root: string): Promise<BareMachine> {
    const [server, machine] = networks;
    for (const name of networks) await output('ip', ['netns', 'add', name]);
    for (const name of networks) await output('ip', ['-n', name, 'link', 'set', 'lo', 'up']);
    await output('ip', ['-n', server, 'link', 'add', 'wire', 'type', 'veth', 'peer', 'name', 'wire', 'netns', machine]);
    await output('ip', ['-n', server, 'address', 'add', `${BareMachine.serverAddress}/24`, 'dev', 'wire']);
    await output('ip', ['-n', machine, 'address', 'add', '10.99.0.2/24', 'dev', 'wire']);
    for (const name of networks) await output('ip', ['-n', name, 'link', 'set', 'wire', 'up']);
    const mounts = devices.map((device) => `mount --bind /dev/${device} ${root}/dev/${device}`).join(' && ');
    const first = `mount -t proc proc ${root}/proc && ${mounts} && exec chroot ${root} /bin/sh -c 'while :; do sleep 86400 & wait; done'`;
    const holder = new Child('bare machine', [
      ...['nsenter', `--net=/run/netns/${machine}`, 'setpriv', '--pdeathsig', 'KILL'],
      ...['unshare', '--mount', '--pid', '--uts', '--fork', '--kill-child', 'sh', '-c', first],
    ]);
    let pid = 0;
    await holder.waitUntil('its first process', () => {
      pid = Number(readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim());
      return pid > 0 && existsSync(`/proc/${pid}/root/proc/1/stat`) && existsSync(`/proc/${pid}/root/bin/sh`);
    });
    return new BareMachine(root, { holder, pid, networks });
  }

  /** Wraps a command so that it runs in the network of the server. */
  besideServer(...command: readonly string[]): readonly [string, ...string[]] {
    return ['nsenter', `--net=/run/netns/${this.#networks[0]}`, '--', ...command];
  }

  /** Runs shell commands on the machine, by default as root. */
  run(script: string, { user, timeout = 120_000 }: { readonly user?: number; readonly timeout?: number } = {}): Promise<CommandResult> {
    const as = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
    const home = user === undefined ? '/root' : '/home/user';
    const spaces = ['--target', String(this.#pid), '--net', '--mount', '--pid', '--uts', '--root', '--wd'];
    const words = [...spaces, ...as, 'env', '-i', 'PATH=/usr/bin:/bin', `HOME=${home}`, '/bin/sh', '-c', script];
    return run('nsenter', words, { timeout });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run('kill', ['-KILL', String(this.#pid)]);
    await this.#holder.kill();
    for (const name of this.#networks) await run('ip', ['netns', 'delete', name]);
  }
}

async function makeRoot(root: string): Promise<void> {
  for (const folder of ['proc', 'dev', 'etc', 'tmp', 'root', 'home/user', 'opt', 'var/lib', 'small', 'run'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const device of devices) writeFileSync(join(root, 'dev', device), '');
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nuser:x:1000:\n');
  await output('chown', ['1000:1000', join(root, 'home/user')]);
  await output('chmod', ['1777', join(root, 'tmp')]);
}

/** With copies of programs of this machine. */
async function fillLikeHere(root: string): Promise<void> {
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  symlinkSync('usr/bin', join(root, 'bin'));
  const files = new Set(libraries.filter((library) => existsSync(library)));
  for (const program of programs) {
    const path = (await output('sh', ['-c', `readlink -f "$(command -v ${program})"`])).trim();
    copyFileSync(path, join(root, 'usr/bin', program));
    const { stdout } = await run('ldd', [path]);
    for (const [, library] of stdout.matchAll(/(\/\S+) \(0x/g)) files.add(library!);
  }
  for (const library of [...files])
    for (const [, needed] of (await run('ldd', [library])).stdout.matchAll(/(\/\S+) \(0x/g)) files.add(needed!);
  for (const loader of ['libdl.so.2', 'libpthread.so.0', 'libm.so.6', 'libgcc_s.so.1'])
    for (const folder of ['/lib/x86_64-linux-gnu', '/lib/aarch64-linux-gnu'])
      if (existsSync(join(folder, loader))) files.add(join(folder, loader));
  for (const file of files) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    copyFileSync(file, join(root, file));
  }
}
