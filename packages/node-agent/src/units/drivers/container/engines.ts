import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { dockerFeatures, dockerVersion } from './docker/docker.ts';
import { Engine } from './engine.ts';
import { type Identity, identify } from './identify.ts';
import { PodmanService } from './podman/service.ts';

export interface FindEngineOptions {
  /** A folder of the driver's own, in the state directory of the agent. */
  readonly directory: string;
  /** The only engine to use. */
  readonly engine?: 'podman' | 'docker';
  /** Sockets of engines, first come first served. Without them, the usual ones. */
  readonly sockets?: readonly string[];
  /** Folders of programs, first come first served. */
  readonly programs?: readonly string[];
  /** Added to the environment of the service of Podman. */
  readonly environment?: NodeJS.ProcessEnv;
}

export interface FoundEngine extends Identity {
  readonly socket: string;
  readonly service?: PodmanService;
}

const usualPrograms = ['/usr/bin', '/usr/local/bin', '/bin'];
/** The oldest version of Podman's API that is used. */
const oldestPodman = 4;

export function isUsable({ engine, version }: Identity): boolean {
  return engine === 'Podman' ? Number.parseInt(version, 10) >= oldestPodman : dockerVersion(version) !== undefined;
}

/**
 * The engine of this machine: one at a socket that the environment names, else Podman, whose API is started if nobody serves it, else Docker. Containers
 * of Podman do not depend on a daemon, so it comes first.
 */
export async function findEngine(options: FindEngineOptions): Promise<FoundEngine | undefined> {
  const isWanted = (found: Identity): boolean =>
    isUsable(found) && (options.engine === undefined || found.engine.toLowerCase() === options.engine);
  const at = async (sockets: readonly string[]): Promise<FoundEngine | undefined> => {
    for (const socket of sockets) {
      const identity = await identify(socket);
      if (identity !== undefined && isWanted(identity)) return { ...identity, socket };
    }
    return undefined;
  };
  const { named, podman, docker } = usualSockets();
  return (
    (await at(options.sockets ?? [...named, ...podman])) ??
    (options.engine === 'docker' ? undefined : await startPodman(options)) ??
    (options.sockets === undefined ? at(docker) : undefined)
  );
}

async function startPodman(options: FindEngineOptions): Promise<FoundEngine | undefined> {
  for (const folder of options.programs ?? usualPrograms) {
    const program = join(folder, 'podman');
    if (!(await isProgram(program))) continue;
    const { directory, environment } = options;
    const service = await PodmanService.start({ podman: program, directory, ...(environment && { environment }) });
    const identity = await identify(service.socketPath);
    if (identity !== undefined && isUsable(identity)) return { ...identity, socket: service.socketPath, service };
    await service[Symbol.asyncDispose]();
  }
  return undefined;
}

export interface ExaminedEngine extends Identity {
  /** Why no units can run there. */
  readonly problem?: string;
  /** A sentence about something that works less well there. */
  readonly notice?: string;
}

/** The engine at a socket, for `capstan doctor`; undefined if none answers. */
export async function examineEngine(socket: string): Promise<ExaminedEngine | undefined> {
  const found = await identify(socket);
  if (found === undefined) return undefined;
  if (!isUsable(found)) return { ...found, problem: 'it is too old' };
  if (found.engine === 'Podman') return found;
  try {
    const { outlives } = await dockerFeatures(new Engine(socket), found.version);
    return outlives ? found : { ...found, notice: 'units with an image end when Docker restarts; its setting "live-restore" avoids that' };
  } catch (error) {
    return { ...found, problem: (error as Error).message };
  }
}

/** Where engines serve their APIs: at sockets that the environment names, Podman's and Docker's. */
export function usualSockets(): Readonly<Record<'named' | 'podman' | 'docker', readonly string[]>> {
  const { CONTAINER_HOST, DOCKER_HOST, XDG_RUNTIME_DIR } = process.env;
  const named = [CONTAINER_HOST, DOCKER_HOST].flatMap((host) => (host?.startsWith('unix://') ? [host.slice('unix://'.length)] : []));
  const own = XDG_RUNTIME_DIR === undefined ? [] : [join(XDG_RUNTIME_DIR, 'podman/podman.sock')];
  return { named, podman: ['/run/podman/podman.sock', ...own], docker: ['/run/docker.sock', '/var/run/docker.sock'] };
}

async function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
