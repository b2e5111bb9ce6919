import { chmod, lstat, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { UnitProblem, type UnitRoom, uploadPath } from '../driver.ts';
import { sharedEnvironment, visibleDevices } from '../exec/environment.ts';
import { unitResolver } from '../exec/resolver.ts';
import { boxDevices, type GpuNames } from './devices.ts';
import type { BoxNamespaces, BoxSpec, LogBounds } from './dialect.ts';
import { KeptLog } from './podman/kept-log.ts';

export const unitLabel = 'dev.capstan.unit';
export const allocationLabel = 'dev.capstan.allocation';

export interface BoxOptions {
  /** How many processes and threads a unit may have. */
  readonly processes: number;
  readonly log: LogBounds;
  /** A file with a filter of system calls, if not that of the engine. */
  readonly filter?: string;
  readonly gpuNames: GpuNames;
}

export interface BoxPlace extends BoxOptions {
  readonly name: string;
  /** Of this start; it holds the log and the files that the driver gives to the container. */
  readonly folder: string;
  readonly namespaces: BoxNamespaces;
}

/** The container of a unit. Rejects with a UnitProblem. */
export async function boxSpec(room: UnitRoom, place: BoxPlace): Promise<BoxSpec> {
  const uploads = room.uploads === undefined ? [] : [{ source: room.uploads, path: uploadPath, readOnly: false }];
  const mounts = [...uploads, ...room.mounts];
  await checkMounts(mounts);
  if (room.uploads !== undefined) await openTree(room.uploads);
  for (const { source, readOnly } of room.mounts) if (!readOnly) await chmod(source, 0o1777);
  const workingDirectory = room.workingDirectory ?? (room.uploads === undefined ? undefined : uploadPath);
  return {
    name: place.name,
    labels: { [unitLabel]: room.id, [allocationLabel]: room.allocation },
    image: room.image!,
    command: room.command,
    args: room.args ?? [],
    environment: environmentOf(room),
    ...(workingDirectory !== undefined && { workingDirectory }),
    hostname: room.hostname,
    tty: room.tty,
    mounts: [...mounts, ...(await ownFiles(room, place))],
    devices: await boxDevices(room, place.gpuNames),
    cpu: room.cpu,
    memory: room.memory,
    processes: place.processes,
    sharedMemory: room.memory > 0 ? room.memory : Math.floor(totalmem() / 2),
    limits: await processLimits(),
    ...(place.filter !== undefined && { filter: place.filter }),
    namespaces: place.namespaces,
    log: { path: KeptLog.path(place.folder), ...place.log },
  };
}

/** PATH and HOME are those of the image. A runtime that gives GPUs by variable must not listen to the tenant. */
function environmentOf(room: UnitRoom): Record<string, string> {
  const { NVIDIA_VISIBLE_DEVICES } = visibleDevices(room);
  return { HOSTNAME: room.hostname, ...sharedEnvironment(room), NVIDIA_VISIBLE_DEVICES: NVIDIA_VISIBLE_DEVICES! };
}

/** No core dumps, and the usual numbers of files and processes, unless the agent itself may have fewer. */
async function processLimits(): Promise<BoxSpec['limits']> {
  const own = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const most = (label: string, usual: number): number =>
    Math.min(usual, Number(new RegExp(`^${label}\\s+\\S+\\s+(\\d+)`, 'm').exec(own)?.[1] ?? usual));
  return [
    { name: 'core', value: 0 },
    { name: 'nofile', value: most('Max open files', 1 << 20) },
    // The service of Podman itself may have no more.
    { name: 'nproc', value: most('Max processes', 32_768) },
  ];
}

async function checkMounts(mounts: BoxSpec['mounts']): Promise<void> {
  for (const { source, path } of mounts) {
    if (!path.startsWith('/') || /^\/*((proc|sys|dev)(\/|$)|$)/.test(path) || path.split('/').some((part) => part === '.' || part === '..'))
      throw new UnitProblem('StorageUnavailable', `nothing can be mounted at ${path}; choose another path`, { isFinal: true });
    const isFolder = await stat(source).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isFolder) throw new UnitProblem('StorageUnavailable', `the folder ${source} does not exist on this node`);
  }
}

/** Images choose their users. Nobody else can enter the folders above. */
async function openTree(folder: string): Promise<void> {
  await chmod(folder, 0o777);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openTree(path);
    else if (entry.isFile()) await chmod(path, ((await lstat(path)).mode & 0o777) | 0o666);
  }
}

/** Tells a container its address, which is not known when it is created. Its program must not have started. */
export async function writeHosts({ hostname }: UnitRoom, folder: string, address = '127.0.0.1'): Promise<void> {
  const hosts = `127.0.0.1\tlocalhost\n::1\tlocalhost\n${address}\t${hostname}\n`;
  await writeFile(join(filesIn(folder), 'hosts'), hosts, { mode: 0o644 });
}

const filesIn = (folder: string): string => join(folder, 'files');

/** Names of hosts and name servers. Those of the node would tell about it. */
async function ownFiles(room: UnitRoom, { folder }: BoxPlace): Promise<BoxSpec['mounts']> {
  if (room.network === 'Host') return ['/etc/hosts', '/etc/resolv.conf'].map((path) => ({ source: path, path, readOnly: true }));
  const files = filesIn(folder);
  await mkdir(files, { recursive: true, mode: 0o755 });
  await writeHosts(room, folder);
  await writeFile(join(files, 'resolv.conf'), room.network === 'None' ? '' : (await unitResolver()).text, { mode: 0o644 });
  return ['hosts', 'resolv.conf'].map((name) => ({ source: join(files, name), path: `/etc/${name}`, readOnly: true }));
}
