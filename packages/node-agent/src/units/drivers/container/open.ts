import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { whyNoSizes } from '../../../disks/sized-folder.ts';
import { spareOf } from '../../../disks/space.ts';
import { usualRoom } from '../../../disks/unit-room.ts';
import type { UnitDriver } from '../driver.ts';
import type { ExecDriver } from '../exec/driver.ts';
import type { IsolatedNetwork } from '../exec/network.ts';
import { openExecDriver } from '../exec/open.ts';
import { describedGpus } from './devices.ts';
import type { EngineStorage } from './dialect.ts';
import { Anchors } from './docker/anchors.ts';
import { docker, dockerFeatures } from './docker/docker.ts';
import { ContainerDriver, type ContainerDriverOptions } from './driver.ts';
import { Engine } from './engine.ts';
import { type FindEngineOptions, type FoundEngine, findEngine } from './engines.ts';
import { writeFilter, writeOwnFilter } from './filter.ts';
import { HeldSurroundings } from './held.ts';
import { podman, podmanInfo, podmanStorage } from './podman/podman.ts';

export interface OpenContainerDriverOptions extends FindEngineOptions {
  /** Folders that no unit may see. */
  readonly hidden?: readonly string[];
  /** The result of an earlier look at the driver `exec`, which makes the namespaces of containers. */
  readonly exec?: Pick<UnitDriver, 'isolation' | 'why'>;
  /** Of isolated units. Drivers of the same machine share it. */
  readonly network?: IsolatedNetwork;
  readonly log?: { readonly files: number; readonly bytes: number };
  readonly processes?: number;
  /** In bytes: how much of the disk the files may use that a program changes in its container. */
  readonly disk?: number;
  /** In bytes: how much of a disk of this size units and images leave free. */
  readonly spare?: (disk: number) => number;
}

/** Finds the engine of this machine, or starts the API of an installed Podman. */
export async function openContainerDriver(options: OpenContainerDriverOptions): Promise<ContainerDriver> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const shared = {
    directory: join(options.directory, 'units'),
    log: options.log ?? { files: 2, bytes: 25 << 20 },
    processes: options.processes ?? 32_768,
    gpuNames: describedGpus,
  };
  const unusable = (why: string): ContainerDriver => new ContainerDriver({ ...shared, isolation: undefined, why });
  if (process.getuid?.() !== 0) return unusable('units with an image need an agent that runs as root');
  const found = await findEngine(options).catch((error: Error) => error);
  if (found instanceof Error) return unusable(`Podman cannot be used: ${found.message}`);
  if (found === undefined) return unusable(missingEngine(options.engine));
  const rooms = await openExecDriver({
    directory: join(options.directory, 'rooms'),
    hidden: [options.directory, ...(options.hidden ?? [])],
    ...(options.network && { network: options.network }),
    ...(options.exec && { known: options.exec }),
  });
  if (rooms.isolation !== 'full') {
    await found.service?.[Symbol.asyncDispose]();
    return unusable(`containers cannot be isolated: ${rooms.why ?? 'unknown reason'}`);
  }
  const parts = await openEngine(found, rooms, options.directory).catch((error: Error) => error);
  if (parts instanceof Error) {
    await found.service?.[Symbol.asyncDispose]();
    return unusable(`${found.engine} at ${found.socket} cannot be used: ${parts.message}`);
  }
  const { spare = spareOf } = options;
  const { storage, ...drivers } = parts;
  const { folder, whyNoLayers } = storage;
  const unlimited = (await whyNoSizes()) ?? whyNoLayers;
  const why = [rooms.why, unlimited && `containers can fill the disk: ${unlimited}`].filter((one) => one !== undefined).join('; ');
  return new ContainerDriver({
    ...shared,
    isolation: 'full',
    ...(why !== '' && { why }),
    ...(unlimited === undefined && { layer: { size: options.disk ?? usualRoom, spare } }),
    images: { folder, spare },
    ...drivers,
    onDispose: async () => found.service?.[Symbol.asyncDispose](),
  });
}

function missingEngine(wanted: FindEngineOptions['engine']): string {
  if (wanted === 'docker') return 'units with an image need Docker 20.10 or later, which does not answer';
  if (wanted === 'podman') return 'units with an image need Podman 4 or later: apt-get install podman';
  return 'units with an image need Podman 4 or later, or Docker 20.10 or later: apt-get install podman';
}

type EngineParts = Required<Pick<ContainerDriverOptions, 'backend' | 'gpuNames'>> &
  Pick<ContainerDriverOptions, 'filter'> & { readonly storage: EngineStorage };

async function openEngine(found: FoundEngine, rooms: ExecDriver, directory: string): Promise<EngineParts> {
  const engine = new Engine(found.socket);
  const file = join(directory, 'filter.json');
  if (found.engine === 'Podman') {
    const info = await podmanInfo(engine);
    const filter = await writeFilter(info, file);
    const backend = { engine, dialect: podman, surroundings: new HeldSurroundings(rooms) };
    return { backend, gpuNames: describedGpus, storage: podmanStorage(info), ...(filter !== undefined && { filter }) };
  }
  const features = await dockerFeatures(engine, found.version);
  const dialect = docker(features);
  const filter = await writeOwnFilter(file);
  const anchors = new Anchors({ engine, prefix: dialect.prefix, filter });
  const gpuNames = features.gpus === 'cdi' ? describedGpus : (features.gpus ?? 'none');
  return { backend: { engine, dialect, surroundings: new HeldSurroundings(rooms, anchors) }, gpuNames, filter, storage: features.storage };
}
