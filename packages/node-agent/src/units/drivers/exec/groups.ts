import { access, constants, mkdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoomUsage } from '../driver.ts';
import type { Pair } from './pairs.ts';

/** The cgroups of this machine below which units get one each. */
export interface UnitGroups {
  readonly version: 1 | 2;
  /** The folder of each controller; the same for all in version 2. */
  readonly folders: ReadonlyMap<string, string>;
  /** Folders for the launchers themselves, away from the agent's own group. */
  readonly monitors: readonly string[];
}

const needed = ['cpu', 'cpuacct', 'memory', 'pids', 'devices'];

interface Mount {
  readonly folder: string;
  readonly type: string;
  readonly options: readonly string[];
}

/**
 * Finds the hierarchies, and creates the folder `name` in each: at the top as root, and otherwise in the agent's own group, if that was
 * delegated to it. Controllers that cannot be used are left out.
 */
export async function openGroups(name: string, isRoot: boolean): Promise<UnitGroups> {
  const mounts = await cgroupMounts(isRoot ? undefined : await ownGroup());
  const unified = mounts.find((mount) => mount.type === 'cgroup2');
  const controllers = unified === undefined ? [] : await enable(unified.folder, name);
  const monitors: string[] = [];
  if (unified !== undefined) monitors.push(...(await created(join(unified.folder, name, 'monitors'))));
  if (unified !== undefined && controllers.length > 0) {
    const folder = join(unified.folder, name);
    return { version: 2, folders: new Map(controllers.map((controller) => [controller, folder])), monitors };
  }
  const folders = new Map<string, string>();
  for (const mount of mounts.filter(({ type }) => type === 'cgroup')) {
    if (mount.options.includes('name=systemd')) monitors.push(...(await created(join(mount.folder, name))));
    for (const controller of needed.filter((one) => mount.options.includes(one))) {
      for (const folder of await created(join(mount.folder, name))) folders.set(controller, folder);
    }
  }
  return { version: 1, folders, monitors };
}

/** The path of the agent's group in version 2. */
async function ownGroup(): Promise<string> {
  const text = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
  return /^0::(.*)$/m.exec(text)?.[1] ?? '/';
}

async function cgroupMounts(own: string | undefined): Promise<Mount[]> {
  const text = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, folder, type, options]) => ({
      folder: own === undefined ? folder! : join(folder!, own),
      type: type!,
      options: options!.split(','),
    }));
}

/** Version 2: hands the controllers down to the folder and to those below it; returns the ones that arrive. */
async function enable(root: string, name: string): Promise<string[]> {
  const folder = join(root, name);
  if ((await created(folder)).length === 0) return [];
  const wanted = ['cpu', 'memory', 'pids'];
  for (const parent of [root, folder]) {
    for (const controller of wanted) await writeFile(join(parent, 'cgroup.subtree_control'), `+${controller}`).catch(() => {});
  }
  const text = await readFile(join(folder, 'cgroup.subtree_control'), 'utf8').catch(() => '');
  return text.split(/\s+/).filter((controller) => wanted.includes(controller));
}

async function created(folder: string): Promise<string[]> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    return [folder];
  } catch {
    return [];
  }
}

export function groupPairs(groups: UnitGroups): Pair[] {
  return [
    ['groupVersion', groups.version],
    ...[...groups.folders].flatMap(([controller, folder]): Pair[] => [
      ['groupController', controller],
      ['groupFolder', folder],
    ]),
    ...groups.monitors.map((folder): Pair => ['monitorFolder', folder]),
  ];
}

/** A sentence that names the limits which this machine cannot enforce; undefined if there are none. */
export function missingLimits(groups: UnitGroups): string | undefined {
  const missing = ['cpu', 'memory', 'pids'].filter((controller) => !groups.folders.has(controller));
  return missing.length === 0
    ? undefined
    : `the agent may not use the cgroup controllers ${missing.join(', ')}, so units are not limited in them`;
}

/** Undefined if the unit has no group. */
export async function groupUsage(groups: UnitGroups, id: string): Promise<RoomUsage | undefined> {
  const file = async (controller: string, name: string): Promise<string | undefined> => {
    const folder = groups.folders.get(controller);
    return folder === undefined ? undefined : readFile(join(folder, id, name), 'utf8').catch(() => undefined);
  };
  if (groups.version === 2) {
    const [cpu, memory] = await Promise.all([file('cpu', 'cpu.stat'), file('memory', 'memory.current')]);
    if (cpu === undefined) return undefined;
    return { cpuSeconds: Number(/^usage_usec (\d+)/m.exec(cpu)?.[1] ?? 0) / 1e6, memoryBytes: Number(memory ?? 0) };
  }
  const [cpu, memory] = await Promise.all([file('cpuacct', 'cpuacct.usage'), file('memory', 'memory.usage_in_bytes')]);
  return cpu === undefined ? undefined : { cpuSeconds: Number(cpu) / 1e9, memoryBytes: Number(memory ?? 0) };
}

/** Live processes in the groups of a unit. */
export async function groupMembers(groups: UnitGroups, id: string): Promise<number[]> {
  const found = new Set<number>();
  for (const folder of new Set(groups.folders.values())) {
    const text = await readFile(join(folder, id, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const line of text.split('\n').filter(Boolean)) found.add(Number(line));
  }
  return [...found];
}

export async function removeGroups(groups: UnitGroups, id: string): Promise<void> {
  for (const folder of new Set(groups.folders.values())) {
    const one = join(folder, id);
    if (await stat(one).catch(() => undefined)) await rmdir(one).catch(() => {});
  }
}
