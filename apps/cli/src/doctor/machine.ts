import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { engineSockets, examineEngine, examineLimits, type VolumeLimits } from '@capstan/node-agent';
import { defaultHealthPort, defaultPlatformHealthPort, defaultPort } from '../commands/options.ts';
import { formatBytes } from '../units/words.ts';

/** `missing`: something works less well without it. `wrong`: something does not work. */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'missing' | 'wrong';
  readonly found: string;
  /** The command or change that helps. */
  readonly advice?: string;
}

const ok = (name: string, found: string): Check => ({ name, state: 'ok', found });
const missing = (name: string, found: string, advice: string): Check => ({ name, state: 'missing', found, advice });

/** Where system programs are, also if they are not in the PATH of this user. */
const folders = (): string[] =>
  [...new Set([...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin', '/bin'])].filter(Boolean);

export function programPath(name: string, places: readonly string[] = folders()): string | undefined {
  return places
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Checks whether this machine can be a server and a node. */
export async function machineChecks(): Promise<Check[]> {
  return [
    nodeCheck(process.versions.node),
    userCheck(),
    cgroupCheck('/sys/fs/cgroup'),
    programCheck('perl', 'units without an image need it', 'apt install perl-base'),
    ...(await rootChecks(userInfo().uid === 0)),
    await gpuCheck(),
    diskCheck(process.cwd()),
    storageCheck(await examineLimits(process.cwd())),
    ...(await Promise.all([defaultPort, defaultHealthPort, defaultPlatformHealthPort].map(portCheck))),
  ];
}

export function nodeCheck(version: string): Check {
  const isNew = Number(version.split('.')[0]) >= 24;
  return isNew
    ? ok('node', version)
    : { name: 'node', state: 'wrong', found: `${version} is too old`, advice: 'Run "npm ci", which installs Node 24 beside it' };
}

/** Parts that only an agent that runs as root uses. */
export async function rootChecks(isRoot: boolean): Promise<Check[]> {
  if (isRoot)
    return [programCheck('ip', 'units get no network of their own', 'apt install iproute2'), firewallCheck(), await containerCheck()];
  return [
    ok('network', 'without root, units use that of this machine'),
    missing('images', 'without root, units with an image do not run here', 'Run the agent as root, with Podman or Docker'),
  ];
}

function userCheck(): Check {
  const { uid, username } = userInfo();
  if (uid === 0) return ok('user', 'root: units are isolated from each other and from this machine');
  return missing(
    'user',
    `${username} is not root: units on this machine run as ${username}, without isolation`,
    'Run the agent as root to isolate them',
  );
}

export function cgroupCheck(root: string): Check {
  if (!existsSync(root))
    return missing('cgroups', `${root} does not exist`, 'Without it units have no limits of memory and processor time');
  const isUnified = existsSync(join(root, 'cgroup.controllers'));
  const has = isUnified
    ? readFileSync(join(root, 'cgroup.controllers'), 'utf8').trim().split(' ')
    : readdirSync(root).flatMap((name) => name.split(','));
  const absent = ['cpu', 'memory', 'pids'].filter((name) => !has.includes(name));
  const version = `version ${isUnified ? 2 : 1}`;
  return absent.length === 0
    ? ok('cgroups', version)
    : missing('cgroups', `${version} without ${absent.join(', ')}`, 'Units have no limits of these');
}

function programCheck(name: string, why: string, install: string): Check {
  const path = programPath(name);
  return path === undefined ? missing(name, `not installed: ${why}`, `Install it, on Debian and Ubuntu with "${install}"`) : ok(name, path);
}

function firewallCheck(): Check {
  const found = programPath('nft') ?? programPath('iptables');
  if (found !== undefined) return ok('firewall', found);
  const why = 'neither nft nor iptables: units run, but reach no other machine';
  return missing('firewall', why, 'Install nftables, on Debian and Ubuntu with "apt install nftables"');
}

export interface EnginePlaces {
  /** Sockets that are asked before Podman is started, and after that. */
  readonly sockets: readonly string[];
  readonly otherSockets: readonly string[];
  /** Empty if it is not installed. */
  readonly podman: string;
  /** The only engine to use, if the agent has that setting. */
  readonly engine?: string | undefined;
}

function usualPlaces(): EnginePlaces {
  const { named, podman, docker } = engineSockets();
  const engine = process.env['CAPSTAN_NODE_CONTAINER_ENGINE'];
  return { sockets: [...named, ...podman], otherSockets: docker, podman: programPath('podman') ?? '', engine };
}

/** Which container engine the agent of this machine would use. */
export async function containerCheck(places: EnginePlaces = usualPlaces()): Promise<Check> {
  const others: string[] = [];
  const ask = async (sockets: readonly string[]): Promise<Check | undefined> => {
    for (const socket of sockets) {
      const found = await examineEngine(socket);
      if (found === undefined) continue;
      const words = `${found.engine} at ${socket} (API ${found.version})`;
      const isOther = places.engine !== undefined && places.engine !== found.engine.toLowerCase();
      if (!isOther && found.problem === undefined) return ok('images', found.notice === undefined ? words : `${words}: ${found.notice}`);
      others.push(`${words} is not used: ${isOther ? `the setting is ${places.engine}` : found.problem}`);
    }
    return undefined;
  };
  const first = await ask(places.sockets);
  if (first !== undefined) return first;
  if (places.podman !== '' && places.engine !== 'docker') return ok('images', `${places.podman}, whose API the agent starts`);
  const last = await ask(places.otherSockets);
  if (last !== undefined) return last;
  const why = ['neither Podman 4 nor Docker 20.10 or later', ...others].join('; ');
  return missing('images', `${why}: units with an image do not run here`, 'Install one, on Debian and Ubuntu with "apt install podman"');
}

async function gpuCheck(): Promise<Check> {
  const smi = programPath('nvidia-smi');
  if (smi !== undefined) {
    try {
      const { stdout } = await promisify(execFile)(smi, ['--query-gpu=name', '--format=csv,noheader'], { timeout: 10_000 });
      const names = stdout.trim().split('\n').filter(Boolean);
      if (names.length > 0) return ok('gpus', `${names.length} × ${[...new Set(names)].join(', ')}`);
    } catch (error) {
      return {
        name: 'gpus',
        state: 'wrong',
        found: `nvidia-smi fails: ${(error as Error).message.split('\n')[0]}`,
        advice: 'Check the driver',
      };
    }
  }
  if (existsSync('/dev/kfd')) return ok('gpus', 'AMD (/dev/kfd)');
  return missing('gpus', 'none', 'Pretend some with "capstan up --gpus FILE" to try the fleet');
}

const leastDisk = 2 ** 30;

function diskCheck(folder: string): Check {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= leastDisk) return ok('disk', `${formatBytes(free)} free here`);
  return { name: 'disk', state: 'wrong', found: `only ${formatBytes(free)} free here`, advice: 'Free some: a full disk stops writes' };
}

/** How the agent would limit the sizes of storages. */
export function storageCheck({ kind, why }: VolumeLimits): Check {
  const words = {
    ProjectQuotas: 'sizes are limited by project quotas',
    LoopFiles: 'sizes are limited by loop files',
    None: 'sizes are not limited',
  }[kind];
  const found = why === undefined ? words : `${words}: ${why}`;
  if (kind !== 'None') return ok('storages', found);
  return missing('storages', found, 'A storage can fill the disk; run the agent as root, with e2fsprogs and loop devices');
}

export async function portCheck(port: number): Promise<Check> {
  const name = `port ${port}`;
  const server = createServer();
  const problem = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen(port, '127.0.0.1', () => resolve(undefined));
  });
  server.close();
  if (problem === undefined) return ok(name, 'free');
  return missing(
    name,
    problem.code === 'EADDRINUSE' ? 'used, perhaps by a running "capstan up"' : problem.message,
    'Choose another for a second server with --port',
  );
}
