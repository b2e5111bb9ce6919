import { randomUUID } from 'node:crypto';
import { access, constants, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UnitRoom } from '../driver.ts';
import { ExecDriver, type ExecDriverOptions } from './driver.ts';
import { missingLimits, openGroups } from './groups.ts';
import { launcherProgram } from './launcher/launcher.ts';
import { IsolatedNetwork } from './network.ts';

export interface OpenExecDriverOptions {
  /** A folder of the driver's own, in the state directory of the agent. */
  readonly directory: string;
  /** Folders that no unit may see: the state directory of the agent, and wherever tenants' files are. */
  readonly hidden?: readonly string[];
  /** Of isolated units. Drivers of the same machine share it. */
  readonly network?: IsolatedNetwork;
  readonly log?: { readonly files: number; readonly bytes: number };
  readonly processes?: number;
  /** The result of an earlier look at this machine, which saves another one. */
  readonly known?: Pick<ExecDriver, 'isolation' | 'why'>;
}

/** Finds out what this machine offers by running a small unit. */
export async function openExecDriver(options: OpenExecDriverOptions): Promise<ExecDriver> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const isRoot = process.getuid?.() === 0;
  const shared: Omit<ExecDriverOptions, 'isolation' | 'why'> = {
    directory: join(options.directory, 'units'),
    groups: await openGroups('capstan-units', isRoot),
    network: options.network ?? new IsolatedNetwork(),
    launcher: { perl: '/usr/bin/perl', file: join(options.directory, 'launcher.pl') },
    hidden: await realPaths([options.directory, ...(options.hidden ?? [])]),
    log: options.log ?? { files: 5, bytes: 10 << 20 },
    processes: options.processes ?? (await processLimit()),
  };
  const problem = await missing(shared.launcher.perl);
  if (problem !== undefined) return new ExecDriver({ ...shared, isolation: undefined, why: problem });
  await writeLauncher(shared.launcher.file);
  if (options.known !== undefined) return new ExecDriver({ ...shared, ...options.known });
  if (!isRoot) return new ExecDriver({ ...shared, isolation: 'none', why: 'the agent does not run as root' });
  const fault = await probe(shared, options.directory);
  if (fault !== undefined) return new ExecDriver({ ...shared, isolation: 'none', why: fault });
  const limits = missingLimits(shared.groups);
  return new ExecDriver({ ...shared, isolation: 'full', ...(limits === undefined ? {} : { why: limits }) });
}

async function missing(perl: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'commands run on Linux only';
  if (process.arch !== 'x64' && process.arch !== 'arm64') return `commands do not run on the architecture ${process.arch}`;
  return access(perl, constants.X_OK).then(
    () => undefined,
    () => `${perl} is missing: apt-get install perl-base`,
  );
}

/** Launchers that run have read theirs already. */
async function writeLauncher(file: string): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => '')) === launcherProgram) return;
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, launcherProgram, { mode: 0o600 });
  await rename(draft, file);
}

/** Why units cannot be isolated here; undefined if they can. */
async function probe(shared: Omit<ExecDriverOptions, 'isolation'>, directory: string): Promise<string | undefined> {
  const room: UnitRoom = {
    id: `probe-${randomUUID()}`,
    allocation: '',
    hostname: 'probe',
    command: ['/bin/true'],
    environment: {},
    mounts: [],
    network: 'None',
    tty: false,
    cpu: 0,
    memory: 0,
    devices: [],
  };
  const folder = join(directory, 'probe');
  const driver = new ExecDriver({ ...shared, directory: folder, isolation: 'full' });
  try {
    await driver.start(room, 0);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await driver.remove(room.id);
    await rm(folder, { recursive: true, force: true });
  }
}

async function realPaths(paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => realpath(path).catch(() => path)));
}

/** A part of what the machine can have, so that no unit takes all of it. */
async function processLimit(): Promise<number> {
  const most = Number(await readFile('/proc/sys/kernel/pid_max', 'utf8').catch(() => '32768'));
  return Math.min(32768, Math.floor(most / 8));
}
