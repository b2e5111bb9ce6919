import { stat } from 'node:fs/promises';
import { homedir, totalmem, userInfo } from 'node:os';
import { UnitProblem, type UnitRoom, uploadPath } from '../driver.ts';
import { deviceFilesOf, environmentOf, unitHome, workingDirectoryOf } from './environment.ts';
import { groupPairs, type UnitGroups } from './groups.ts';
import type { Pair } from './pairs.ts';

export interface SpecOptions {
  readonly groups: UnitGroups;
  /** Folders of the node that no unit may see, apart from the usual ones. */
  readonly hidden: readonly string[];
  /** The output of a program is kept in so many files of so many bytes. */
  readonly log: { readonly files: number; readonly bytes: number };
  /** How many processes and threads a unit may have. */
  readonly processes: number;
}

/** Users of containers often have a number only. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/** The instructions for the launcher of a unit. They go through a pipe, because they contain secrets. */
export async function specOf(room: UnitRoom, options: SpecOptions & { readonly isIsolated: boolean }): Promise<Pair[]> {
  const { isIsolated } = options;
  if (!isIsolated && room.mounts.length > 0)
    throw new UnitProblem('StorageUnavailable', 'an agent that cannot isolate units cannot mount storages either', { isFinal: true });
  const home = isIsolated ? unitHome : homedir();
  const environment = environmentOf(room, home, isIsolated ? 'unit' : userName());
  const pairs: Pair[] = [
    ['architecture', process.arch],
    ['isolated', isIsolated ? 1 : 0],
    ['id', room.id],
    ['hostname', room.hostname],
    ['network', isIsolated ? room.network : 'Host'],
    ['tty', room.tty ? 1 : 0],
    ['cpu', room.cpu],
    ['memory', room.memory],
    ['memoryFiles', room.memory > 0 ? room.memory : Math.floor(totalmem() / 2)],
    ['pids', options.processes],
    ['slots', '/run/capstan-units'],
    ['slotCount', 4000],
    ['logFiles', options.log.files],
    ['logSize', options.log.bytes],
    ['forwarderIdle', 60],
    ['directory', isIsolated ? workingDirectoryOf(room, home) : (room.workingDirectory ?? room.uploads ?? home)],
    ...room.command.map((word): Pair => ['command', word]),
    ...Object.entries(environment).map(([name, value]): Pair => ['environment', `${name}=${value}`]),
    ...options.hidden.map((path): Pair => ['hidden', path]),
    ...groupPairs(options.groups),
  ];
  for (const { 1: value } of pairs)
    if (String(value).includes('\0')) throw new UnitProblem('BadCommand', 'the program contains NUL', { isFinal: true });
  return isIsolated ? [...pairs, ...mountPairs(room), ...(await devicePairs(room))] : pairs;
}

function mountPairs(room: UnitRoom): Pair[] {
  const uploads = room.uploads === undefined ? [] : [{ source: room.uploads, path: uploadPath, readOnly: false, isShared: false }];
  return [...uploads, ...room.mounts].flatMap(({ source, path, readOnly, isShared = false }): Pair[] => [
    ['mountSource', source],
    ['mountPath', path],
    ['mountMode', `${readOnly ? 'ro' : 'rw'}${isShared ? ',mapped' : ''}`],
  ]);
}

async function devicePairs(room: UnitRoom): Promise<Pair[]> {
  return (await presentDeviceFiles(room)).map((file): Pair => ['device', file]);
}

/** The device files of a unit. Rejects with a UnitProblem if one that it must have does not exist. */
export async function presentDeviceFiles(room: UnitRoom): Promise<string[]> {
  const { required, optional } = deviceFilesOf(room);
  const found: string[] = [];
  for (const file of [...required, ...optional]) {
    const isDevice = await stat(file).then(
      (stats) => stats.isCharacterDevice() || stats.isBlockDevice(),
      () => false,
    );
    if (isDevice) found.push(file);
    else if (required.includes(file))
      throw new UnitProblem('DeviceUnavailable', `the device file ${file} of a GPU does not exist on this node`);
  }
  return found;
}
