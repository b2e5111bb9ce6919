import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The processes of one task as a cgroup (version 2), which no process can leave without being allowed to. */
export class ProcessGroup {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Processes that write their pid here join the group. */
  get entrance(): string {
    return join(this.#directory, 'cgroup.procs');
  }

  async create(): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
  }

  /** Empty if the group does not exist. */
  async members(): Promise<number[]> {
    const text = await readFile(this.entrance, 'utf8').catch(() => '');
    return text.split('\n').filter(Boolean).map(Number);
  }

  async killAll(): Promise<void> {
    await writeFile(join(this.#directory, 'cgroup.kill'), '1').catch(ignoreMissing);
  }

  /** Does nothing while processes are left. */
  async remove(): Promise<void> {
    await rmdir(this.#directory).catch(() => {});
  }
}

/** Where cgroups of version 2 are mounted; undefined if they are not. */
export async function cgroupMount(): Promise<string | undefined> {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  return mounts
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, , type]) => type === 'cgroup2')?.[1];
}

/**
 * The folder below which the agent may create groups; undefined if this machine has no cgroup v2 with `cgroup.kill`, or the agent may not write there.
 */
export async function processGroups(name: string): Promise<string | undefined> {
  const mount = await cgroupMount();
  if (mount === undefined) return undefined;
  const own = (await readFile('/proc/self/cgroup', 'utf8')).split('\n').find((line) => line.startsWith('0::'));
  const directory = join(mount, own?.slice('0::'.length) ?? '/', name);
  try {
    await mkdir(directory, { recursive: true });
    await readFile(join(directory, 'cgroup.procs'));
    await writeFile(join(directory, 'cgroup.kill'), '0').catch((error: NodeJS.ErrnoException) => {
      // Any other number than 1 is refused where the file exists.
      if (error.code === 'ENOENT' || error.code === 'EACCES') throw error;
    });
    return directory;
  } catch {
    return undefined;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
