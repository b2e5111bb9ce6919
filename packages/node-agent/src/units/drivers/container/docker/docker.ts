import { readFile } from 'node:fs/promises';
import { type BoxSpec, capabilities, type Dialect, type EngineStorage } from '../dialect.ts';
import type { Engine } from '../engine.ts';
import { type Inspected, stateOf } from '../inspected.ts';
import { removeContainer } from './anchors.ts';
import { DockerLog } from './log.ts';

/** The versions of Docker's API that are used: the oldest has everything that units need, and newer ones than the newest are not needed. */
const oldest = 41;
const newest = 47;

/** The minor version of Docker's API to use; undefined if the engine is too old. */
export function dockerVersion(announced: string): number | undefined {
  const [major, minor] = announced.split('.').map(Number);
  if (major !== 1 || minor === undefined || !(minor >= oldest)) return undefined;
  return Math.min(minor, newest);
}

/** The capabilities of a Docker engine. */
export interface DockerFeatures {
  readonly version: number;
  /** How GPUs are given by name: as in the Container Device Interface, by NVIDIA's runtime, or not at all. */
  readonly gpus: 'cdi' | 'nvidia' | undefined;
  /** Whether containers go on while the daemon is away. */
  readonly outlives: boolean;
  readonly storage: EngineStorage;
}

interface Info {
  readonly DockerRootDir?: string;
  readonly Driver?: string;
  readonly CDISpecDirs?: readonly string[] | null;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
  readonly SecurityOptions?: readonly string[] | null;
  readonly LiveRestoreEnabled?: boolean;
}

/** Rejects with a sentence if units cannot run there. */
export async function dockerFeatures(engine: Engine, announced: string): Promise<DockerFeatures> {
  const version = dockerVersion(announced);
  if (version === undefined) throw new Error(`its API is ${announced}, and units need 1.${oldest} (Docker 20.10) or later`);
  const info = await engine.call<Info>({ path: `/v1.${version}/info` });
  const options = (info.SecurityOptions ?? []).map((option) => /^name=([^,]*)/.exec(option)?.[1]);
  if (options.includes('rootless')) throw new Error('it runs without root');
  if (!options.includes('seccomp')) throw new Error('it was built without seccomp');
  const hasRuntime = info.Runtimes?.['nvidia'] !== undefined;
  const gpus = (info.CDISpecDirs ?? []).length > 0 ? 'cdi' : hasRuntime ? 'nvidia' : undefined;
  return { version, gpus, outlives: info.LiveRestoreEnabled === true, storage: storageOf(info) };
}

function storageOf({ Driver = 'unknown', DockerRootDir = '/var/lib/docker' }: Info): EngineStorage {
  const whyNoLayers = Driver === 'overlay2' ? undefined : `Docker keeps them with the storage driver ${Driver}, not overlay2`;
  return { folder: DockerRootDir, whyNoLayers };
}

/** The API of Docker. */
export function docker({ version, gpus }: Pick<DockerFeatures, 'version' | 'gpus'>): Dialect {
  const prefix = `/v1.${version}`;
  return {
    engine: 'Docker',
    prefix,
    pullPrefix: prefix,

    async create(engine, spec) {
      await engine.call({ method: 'POST', path: `${prefix}/containers/create?name=${spec.name}`, body: await bodyOf(spec, gpus) });
    },

    async inspect(engine, name) {
      const found = await engine.find<Inspected>({ path: `${prefix}/containers/${name}/json` });
      return found && stateOf(found);
    },

    async hasImage(engine, image) {
      return (await engine.find<object>({ path: `${prefix}/images/${encodeURIComponent(image)}/json` })) !== undefined;
    },

    async remove(engine, name) {
      await removeContainer(engine, `${prefix}/containers/${name}`);
    },

    async createIdle(engine, { name, image }, signal) {
      const body = { Image: image, Cmd: ['none'], HostConfig: { NetworkMode: 'none' } };
      await engine.call({ method: 'POST', path: `${prefix}/containers/create?name=${name}`, body, signal });
    },

    output: (engine, { folder, name, log }) => DockerLog.in(folder, { engine, path: `${prefix}/containers/${name}`, log }),
  };
}

async function bodyOf(spec: BoxSpec, gpus: DockerFeatures['gpus']): Promise<object> {
  const { network, processes } = spec.namespaces;
  const filter = spec.filter === undefined ? [] : [`seccomp=${await readFile(spec.filter, 'utf8')}`];
  return {
    Image: spec.image,
    Labels: spec.labels,
    ...(spec.command.length > 0 && { Entrypoint: spec.command }),
    ...((spec.command.length > 0 || spec.args.length > 0) && { Cmd: spec.args }),
    Env: Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
    ...(spec.workingDirectory !== undefined && { WorkingDir: spec.workingDirectory }),
    // A container that enters the network of another one has its name, and must not ask for one.
    ...(network === 'host' && { Hostname: spec.hostname }),
    Tty: spec.tty,
    OpenStdin: true,
    StdinOnce: false,
    HostConfig: {
      NetworkMode: network === 'host' ? 'host' : modeOf(network),
      PidMode: modeOf(processes),
      IpcMode: 'private',
      // Files of units belong to users of the node.
      UsernsMode: 'host',
      CgroupnsMode: 'private',
      CapDrop: ['ALL'],
      CapAdd: capabilities,
      Privileged: false,
      SecurityOpt: ['no-new-privileges:true', ...filter],
      RestartPolicy: { Name: 'no' },
      Init: false,
      Mounts: spec.mounts.map(({ source, path, readOnly }) => ({
        Type: 'bind',
        Source: source,
        Target: path,
        ReadOnly: readOnly,
        BindOptions: { Propagation: 'rprivate' },
      })),
      Devices: spec.devices.filter(isFile).map((path) => ({ PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rw' })),
      DeviceRequests: requestsOf(
        spec.devices.filter((device) => !isFile(device)),
        gpus,
      ),
      ...(spec.memory > 0 && { Memory: spec.memory, MemorySwap: spec.memory }),
      ...(spec.cpu > 0 && { NanoCpus: Math.max(10, spec.cpu) * 1_000_000 }),
      PidsLimit: spec.processes,
      ShmSize: spec.sharedMemory,
      Ulimits: spec.limits.map(({ name, value }) => ({ Name: name, Soft: value, Hard: value })),
      // The agent copies the output. While it is away, Docker keeps as much as the agent would.
      LogConfig: { Type: 'json-file', Config: { 'max-size': String(spec.log.bytes), 'max-file': String(spec.log.files) } },
    },
  };
}

function modeOf(space: Exclude<BoxSpec['namespaces']['network'], 'host'>): string {
  if ('container' in space) return `container:${space.container}`;
  throw new Error(`Docker cannot enter the namespace at ${space.path}`);
}

function isFile(device: string): boolean {
  return device.startsWith('/');
}

/** GPUs by their names in the Container Device Interface, which end with the UUID. */
function requestsOf(names: readonly string[], gpus: DockerFeatures['gpus']): object[] {
  if (names.length === 0) return [];
  if (gpus === 'cdi') return [{ Driver: 'cdi', DeviceIDs: names }];
  return [
    { Driver: 'nvidia', DeviceIDs: names.map((name) => name.slice(name.indexOf('=') + 1)), Capabilities: [['gpu', 'compute', 'utility']] },
  ];
}
