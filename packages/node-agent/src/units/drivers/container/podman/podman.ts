import { type BoxSpec, type BoxState, capabilities, type Dialect, phaseOf } from './dialect.ts';

/** Podman's own API. The one that is compatible with Docker ignores namespaces at paths, and the Container Device Interface in older versions. */
export const podman: Dialect = {
  engine: 'Podman',
  prefix: '/v4.0.0/libpod',

  async create(engine, spec) {
    await engine.call({ method: 'POST', path: `${podman.prefix}/containers/create`, body: bodyOf(spec) });
  },

  async inspect(engine, name) {
    const found = await engine.find<Inspected>({ path: `${podman.prefix}/containers/${name}/json` });
    return found && stateOf(found);
  },

  async hasImage(engine, image) {
    const found = await engine.find<object>({ path: `${podman.prefix}/images/${encodeURIComponent(image)}/json` });
    return found !== undefined;
  },

  async remove(engine, name) {
    await engine.find({ method: 'DELETE', path: `${podman.prefix}/containers/${name}?force=true&v=true&timeout=0&ignore=true` });
  },
};

function bodyOf(spec: BoxSpec): object {
  const { network, processes } = spec.namespaces;
  const period = 100_000;
  return {
    name: spec.name,
    labels: spec.labels,
    image: spec.image,
    image_volume_mode: 'anonymous',
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
    netns:
      typeof network === 'string'
        ? { nsmode: network }
        : 'path' in network
          ? { nsmode: 'path', value: network.path }
          : { nsmode: 'bridge' },
    ...(processes !== undefined && { pidns: { nsmode: 'path', value: processes } }),
    use_image_hosts: true,
    use_image_resolve_conf: true,
    // Podman begins the file again when it is full, so it gets the size of all parts but those that `BoxLog` keeps.
    log_configuration: { driver: 'k8s-file', path: spec.log.path, size: spec.log.bytes, options: { 'max-size': String(spec.log.bytes) } },
  };
}

interface Inspected {
  readonly Id: string;
  readonly State: {
    readonly Status: string;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly StartedAt: string;
    readonly FinishedAt: string;
  };
  readonly Config: { readonly Tty: boolean; readonly Labels?: Readonly<Record<string, string>> | null };
}

function stateOf({ Id, State, Config }: Inspected): BoxState {
  return {
    id: Id,
    phase: phaseOf(State.Status),
    pid: State.Pid,
    code: State.ExitCode,
    outOfMemory: State.OOMKilled,
    startedAt: State.StartedAt,
    finishedAt: State.FinishedAt,
    tty: Config.Tty,
    labels: Config.Labels ?? {},
  };
}
