import { access, constants, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { UnitDriver } from '../driver.ts';
import { openExecDriver } from '../exec/open.ts';
import type { Dialect } from './dialect.ts';
import { ContainerDriver } from './driver.ts';
import { Engine } from './engine.ts';
import { writeFilter } from './filter.ts';
import { HeldSurroundings } from './held.ts';
import { type Identity, identify } from './identify.ts';
import { podman } from './podman.ts';
import { PodmanService } from './service.ts';

export interface OpenContainerDriverOptions {
  /** A folder of the driver's own, in the state directory of the agent. */
  readonly directory: string;
  /** Folders that no unit may see. */
  readonly hidden?: readonly string[];
  /** The result of an earlier look at the driver `exec`, which makes the namespaces of containers. */
  readonly exec?: Pick<UnitDriver, 'isolation' | 'why'>;
  /** Name of the bridge of isolated units. */
  readonly bridge?: string;
  /** Sockets of engines, first come first served. */
  readonly sockets?: readonly string[];
  /** Folders of programs, first come first served. */
  readonly programs?: readonly string[];
  /** Folders in which `ip`, `nft` and `iptables` are searched. */
  readonly networkPrograms?: readonly string[];
  /** Added to the environment of the service of Podman. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly log?: { readonly files: number; readonly bytes: number };
  readonly processes?: number;
}

const usualPrograms = ['/usr/bin', '/usr/local/bin', '/bin'];
/** The oldest version of Podman's API that is used. */
const oldest = 4;

export const isUsable = ({ engine, version }: Identity): boolean => engine === 'Podman' && Number.parseInt(version, 10) >= oldest;

/** Finds the engine of this machine, or starts the API of an installed Podman. */
export async function openContainerDriver(options: OpenContainerDriverOptions): Promise<ContainerDriver> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const shared = {
    directory: join(options.directory, 'units'),
    log: options.log ?? { files: 2, bytes: 25 << 20 },
    processes: options.processes ?? 32_768,
  };
  const unusable = (why: string): ContainerDriver => new ContainerDriver({ ...shared, isolation: undefined, why });
  const found = await findEngine(options).catch((error: Error) => error);
  if (found instanceof Error) return unusable(`Podman cannot be used: ${found.message}`);
  if (found === undefined) return unusable('units with an image need Podman 4 or later: apt-get install podman');
  const rooms = await openExecDriver({
    directory: join(options.directory, 'rooms'),
    hidden: [options.directory, ...(options.hidden ?? [])],
    ...(options.bridge !== undefined && { bridge: options.bridge }),
    ...(options.networkPrograms && { programs: options.networkPrograms }),
    ...(options.exec && { known: options.exec }),
  });
  if (rooms.isolation !== 'full') {
    await found.service?.[Symbol.asyncDispose]();
    return unusable(`containers cannot be isolated: ${rooms.why ?? 'unknown reason'}`);
  }
  const engine = new Engine(found.socket);
  const filter = await writeFilter(engine, join(options.directory, 'filter.json'));
  return new ContainerDriver({
    ...shared,
    isolation: 'full',
    ...(rooms.why !== undefined && { why: rooms.why }),
    ...(filter !== undefined && { filter }),
    backend: { engine, dialect: found.dialect, surroundings: new HeldSurroundings(rooms) },
    onDispose: async () => found.service?.[Symbol.asyncDispose](),
  });
}

interface Found {
  readonly socket: string;
  readonly dialect: Dialect;
  readonly service?: PodmanService;
}

async function findEngine(options: OpenContainerDriverOptions): Promise<Found | undefined> {
  for (const socket of options.sockets ?? usualSockets()) {
    const identity = await identify(socket);
    if (identity !== undefined && isUsable(identity)) return { socket, dialect: podman };
  }
  for (const folder of options.programs ?? usualPrograms) {
    const program = join(folder, 'podman');
    if (!(await isProgram(program))) continue;
    const service = await PodmanService.start({
      podman: program,
      directory: options.directory,
      ...(options.environment && { environment: options.environment }),
    });
    const identity = await identify(service.socketPath);
    if (identity !== undefined && isUsable(identity)) return { socket: service.socketPath, dialect: podman, service };
    await service[Symbol.asyncDispose]();
  }
  return undefined;
}

/** Where Podman serves its API. */
export function usualSockets(): string[] {
  const { CONTAINER_HOST, XDG_RUNTIME_DIR } = process.env;
  const named = CONTAINER_HOST?.startsWith('unix://') ? [CONTAINER_HOST.slice('unix://'.length)] : [];
  const own = XDG_RUNTIME_DIR === undefined ? [] : [join(XDG_RUNTIME_DIR, 'podman/podman.sock')];
  return [...named, '/run/podman/podman.sock', ...own];
}

async function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
