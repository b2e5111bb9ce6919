import { type BoxNamespace, type BoxSpec, capabilities, type Dialect, type EngineStorage } from '../dialect.ts';
import type { Engine } from '../engine.ts';
import { type Inspected, stateOf } from '../inspected.ts';
import { KeptLog } from './kept-log.ts';

/** Podman's own API. The one that is compatible with Docker ignores namespaces at paths, and the Container Device Interface in older versions. */
export const podman: Dialect = {
  engine: 'Podman',
  prefix: '/v4.0.0/libpod',
  pullPrefix: '/v1.40',

  async create(engine, spec) {
    await engine.call({ method: 'POST', path: `${podman.prefix}/containers/create`, body: bodyOf(spec) });
  },

  async init(engine, name) {
    await engine.call({ method: 'POST', path: `${podman.prefix}/containers/${name}/init` });
  },

  async inspect(engine, name) {
    const found = await engine.find<Inspected>({ path: `${podman.prefix}/containers/${name}/json` });
    return found && stateOf(found);
  },

  async hasImage(engine, image) {
    return engine.has({ path: `${podman.prefix}/images/${encodeURIComponent(image)}/exists` });
  },

  async remove(engine, name) {
    await engine.find({ method: 'DELETE', path: `${podman.prefix}/containers/${name}?force=true&v=true&timeout=0&ignore=true` });
  },

  async createIdle(engine, { name, image }, signal) {
    await engine.call({ method: 'POST', path: `${podman.prefix}/containers/create`, body: { name, image, command: ['none'] }, signal });
  },

  output: (_engine, { folder }) => new KeptLog(folder),
};

/** The facts about an installation of Podman that are used. Podman needs a while to collect them. */
export interface PodmanInfo {
  readonly host?: { readonly security?: { readonly seccompProfilePath?: string } };
  readonly store?: { readonly graphDriverName?: string; readonly graphRoot?: string };
}

export const podmanInfo = (engine: Engine): Promise<PodmanInfo> => engine.call<PodmanInfo>({ path: `${podman.prefix}/info` });

export function podmanStorage({ store }: PodmanInfo): EngineStorage {
  const driver = store?.graphDriverName ?? 'unknown';
  const whyNoLayers = driver === 'overlay' ? undefined : `Podman keeps them with the storage driver ${driver}, not overlay`;
  return { folder: store?.graphRoot ?? '/var/lib/containers', whyNoLayers };
}

function namespaceOf(space: BoxNamespace): object {
  return 'path' in space ? { nsmode: 'path', value: space.path } : { nsmode: 'container', value: space.container };
}

function bodyOf(spec: BoxSpec): object {
  const { network, processes } = spec.namespaces;
  const period = 100_000;
  return {
    name: spec.name,
    labels: spec.labels,
    image: spec.image,
    // Volumes of the image are folders of the layer, whose size is limited.
    image_volume_mode: 'ignore',
    ...(spec.command.length > 0 && { entrypoint: spec.command }),
    command: spec.args,
    env: spec.environment,
    // Variables of the agent's machine stay there.
    env_host: false,
    httpproxy: false,
    ...(spec.workingDirectory !== undefined && { work_dir: spec.workingDirectory, create_working_dir: true }),
    hostname: spec.hostname,
    terminal: spec.tty,
    stdin: true,
    restart_policy: 'no',
    systemd: 'false',
    sdnotifyMode: 'ignore',
    cap_drop: ['ALL'],
    cap_add: capabilities,
    no_new_privileges: true,
    privileged: false,
    ...(spec.filter !== undefined && { seccomp_profile_path: spec.filter }),
    r_limits: spec.limits.map(({ name, value }) => ({ type: name, soft: value, hard: value })),
    mounts: spec.mounts.map(({ source, path, readOnly }) => ({
      type: 'bind',
      source,
      destination: path,
      options: ['rbind', readOnly ? 'ro' : 'rw', 'nosuid', 'nodev', 'rprivate'],
    })),
    devices: spec.devices.map((path) => ({ path })),
    shm_size: spec.sharedMemory,
    resource_limits: {
      ...(spec.memory > 0 && { memory: { limit: spec.memory, swap: spec.memory } }),
      ...(spec.cpu > 0 && { cpu: { period, quota: Math.max(1000, Math.round((spec.cpu * period) / 1000)) } }),
      pids: { limit: spec.processes },
    },
    netns: network === 'host' ? { nsmode: 'host' } : namespaceOf(network),
    pidns: namespaceOf(processes),
    use_image_hosts: true,
    use_image_resolve_conf: true,
    // Podman begins the file again when it is full, so it gets the size of all parts but those that `BoxLog` keeps.
    log_configuration: { driver: 'k8s-file', path: spec.log.path, size: spec.log.bytes, options: { 'max-size': String(spec.log.bytes) } },
  };
}
