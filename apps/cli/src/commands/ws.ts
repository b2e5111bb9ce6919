import { homedir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  logicalClusterKind,
  logicalClusterName,
  pathAnnotation,
  platformWorkspace,
  rootCluster,
  typeAnnotation,
  type Workspace,
  workspaceKind,
} from '@capstan/api';
import { type Client, isForbidden, isNotFound, type Resource } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { type ConnectionFlags, workspaceClient, workspaceIn } from '../workspaces/connection.ts';
import { worksInRoot } from '../workspaces/home.ts';
import { KubeconfigFile } from '../workspaces/kubeconfig-file.ts';
import { tellOnce } from '../workspaces/once-served.ts';
import { pathFrom } from '../workspaces/target.ts';

export interface CreateFlags extends ConnectionFlags {
  readonly type?: string;
  readonly enter?: boolean;
  readonly timeout: number;
}

export interface DeleteFlags extends ConnectionFlags {
  readonly timeout: number;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);

export async function list(target: string | undefined, flags: ConnectionFlags): Promise<void> {
  using place = new Place(flags);
  const path = place.path(target ?? '.');
  const { items } = await place.children(path).list();
  if (items.length === 0) return write(`There are no workspaces in ${await place.shownPath(path)}.`);
  const rows = items.map(({ metadata, spec, status }) => [metadata.name ?? '', spec?.type?.name ?? '', phaseOf(metadata, status)]);
  for (const line of columns([['NAME', 'TYPE', 'PHASE'], ...rows])) write(line);
}

export async function tree(target: string | undefined, flags: ConnectionFlags): Promise<void> {
  using place = new Place(flags);
  const top = place.path(target ?? '.');
  write(await place.shownPath(top));
  await branch(place, top, '');
}

async function branch(place: Place, path: string, indent: string): Promise<void> {
  const items = await place
    .children(path)
    .list()
    .then(
      (found) => found.items,
      (error: unknown) => {
        if (isForbidden(error) || isNotFound(error)) return [];
        throw error;
      },
    );
  for (const [index, { metadata }] of items.entries()) {
    const isLast = index === items.length - 1;
    write(`${indent}${isLast ? '└── ' : '├── '}${metadata.name}`);
    await branch(place, `${path}:${metadata.name}`, `${indent}${isLast ? '    ' : '│   '}`);
  }
}

export async function current(flags: ConnectionFlags): Promise<void> {
  using place = new Place(flags);
  write(await place.fullPath(place.path('.')));
}

/** Points the kubeconfig at another workspace. */
export async function use(target: string, flags: ConnectionFlags): Promise<void> {
  using place = new Place(flags);
  const { server, notice } = await place.serverOf(target);
  const path = await place.onceThere(workspaceIn(server) ?? 'root');
  place.file.use(server);
  if (notice !== undefined) write(notice);
  write(`Current workspace is ${path}.`);
}

/** Types of workspaces below which people want projects. As in kcp, the server's own default there is a workspace without products. */
const placesOfProjects: ReadonlySet<string> = new Set(['organization', 'team', 'project'].map((name) => `${rootCluster}:${name}`));

function typeNamed(type: string): { readonly name: string; readonly path?: string } {
  const colon = type.lastIndexOf(':');
  return colon < 0 ? { name: type } : { name: type.slice(colon + 1), path: type.slice(0, colon) };
}

export async function create(name: string, flags: CreateFlags): Promise<void> {
  using place = new Place(flags);
  const parent = place.path('.');
  const type = flags.type ?? (placesOfProjects.has(await place.typeOf(parent)) ? 'root:project' : undefined);
  const workspaces = place.children(parent);
  const spec = type === undefined ? {} : { type: typeNamed(type) };
  await workspaces.create({ apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec });
  const made = await until(flags.timeout, async () => {
    const found = await workspaces.get(name);
    return found.status?.phase === 'Ready' ? { done: found } : { why: whyWaiting(found) };
  });
  write(`Workspace ${await place.shownPath(parent)}:${name} (type ${made.spec?.type?.path}:${made.spec?.type?.name}) is ready.`);
  if (flags.enter === true) await use(name, flags);
}

export async function remove(name: string, flags: DeleteFlags): Promise<void> {
  using place = new Place(flags);
  const parent = place.path('.');
  const workspaces = place.children(parent);
  try {
    await workspaces.delete(name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const shown = await place.shownPath(parent);
    throw new Failure('unexpected', `there is no workspace "${name}" in ${shown}; "capstan ws list" lists the existing ones`, error);
  }
  await until(flags.timeout, async () => {
    try {
      return { why: whyWaiting(await workspaces.get(name)) };
    } catch (error) {
      if (isNotFound(error)) return { done: true };
      throw error;
    }
  });
  write(`Workspace ${await place.shownPath(parent)}:${name} is deleted.`);
}

/** Polls until it is done. After the timeout, fails with what it was waiting for. */
async function until<T>(seconds: number, look: () => Promise<{ done: T } | { why: string }>): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const state = await look();
    if ('done' in state) return state.done;
    if (Date.now() > end) throw new Failure('unexpected', `not finished after ${seconds} s, but still in progress: ${state.why}`);
    await sleep(100);
  }
}

function whyWaiting({ metadata, status }: Workspace): string {
  const waiting = (status?.conditions ?? [])
    .filter((one) => one.status === 'False')
    .map(({ type: what, message = '' }) => `${what}: ${message}`);
  return waiting.join('; ') || `the phase is ${phaseOf(metadata, status) || 'not known yet: are the controllers running?'}`;
}

function phaseOf(metadata: KubeObject['metadata'], status: Workspace['status']): string {
  return metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Deleting';
}

/** Workspaces that exist some seconds after the first start of a server. */
const madeAtFirst: ReadonlySet<string> = new Set([platformWorkspace, `${rootCluster}:main`, `${rootCluster}:main:default`]);
/** How long owners wait for them, in milliseconds. */
const patience = 20_000;

/** The workspace that the kubeconfig points to, and those around it. */
class Place implements Disposable {
  readonly file: KubeconfigFile;
  readonly #client: Client;
  readonly #here: string;

  constructor(flags: ConnectionFlags) {
    this.file = KubeconfigFile.read(flags.kubeconfig);
    this.#client = workspaceClient({ ...flags, kubeconfig: this.file.path });
    this.#here = workspaceIn(this.#client.connection.server) ?? 'root';
  }

  path(target: string): string {
    return pathFrom(this.#here, target);
  }

  children(path: string): Resource<Workspace> {
    return this.#client.cluster(path).resource(workspaceKind);
  }

  /** The same as `fullPath`. Owners who are quicker than the first start of a server wait for the workspaces that it creates. */
  async onceThere(path: string): Promise<string> {
    if (!madeAtFirst.has(path) || (await this.#find(path)) !== undefined || !(await worksInRoot(this.#client))) return this.fullPath(path);
    const tell = tellOnce();
    for (const end = Date.now() + patience; Date.now() < end && (await this.#find(path)) === undefined; await sleep(500)) tell();
    return this.fullPath(path);
  }

  /** The absolute path of a workspace, which a server's address may name by its id. */
  async fullPath(path: string): Promise<string> {
    const found = await this.#find(path);
    if (found === undefined) throw new Failure('usage', `there is no workspace ${path}, or you have no access to it.`);
    return found;
  }

  /** The type of a workspace, such as `root:organization`; empty if it is not known. */
  async typeOf(path: string): Promise<string> {
    return (await ignoring(this.#annotations(path), isForbidden, isNotFound))?.[typeAnnotation] ?? '';
  }

  /** The same for messages; the given path if it cannot be resolved. */
  async shownPath(path: string): Promise<string> {
    return /^(root|user)(:|$)/.test(path) ? path : ((await this.#find(path)) ?? path);
  }

  /** The address of the target workspace: `~` is the home workspace, `-` the previous one. */
  async serverOf(target: string): Promise<{ readonly server: string; readonly notice?: string }> {
    // Shells expand `~` to the home directory.
    if (target === '~' || target === homedir())
      return { server: String((await this.#client.cluster('root').resource(workspaceKind).get('~')).spec?.URL) };
    if (target === '-') {
      const server = this.file.previousServer;
      if (server === undefined) throw new Failure('usage', 'there is no previous workspace to return to.');
      return { server };
    }
    const base = this.#client.connection.server.replace(/(\/clusters\/[^/]+)?\/*$/, '');
    const serverAt = (path: string): string => `${base}/clusters/${path}`;
    if (!target.startsWith('..')) return { server: serverAt(this.path(target)) };
    const here = await this.#find(this.#here);
    if (here !== undefined) return { server: serverAt(pathFrom(here, target)) };
    const wanted = this.path(target);
    if (!/^\.\.(:\.\.)*$/.test(target)) return { server: serverAt(wanted) };
    return {
      server: serverAt(await this.#nearest(wanted)),
      notice: `Workspace ${this.#here} does not exist, or you have no access to it. Switching to the nearest workspace above it.`,
    };
  }

  /** The first accessible workspace on the way up. Ends at root, also if the path began with an id. */
  async #nearest(path: string): Promise<string> {
    for (let candidate = path; ; candidate = pathFrom(candidate, '..')) {
      if ((await this.#find(candidate)) !== undefined) return candidate;
      if (!candidate.includes(':')) return 'root';
    }
  }

  /** The absolute path of a workspace; undefined if it does not exist or is not accessible. */
  async #find(path: string): Promise<string | undefined> {
    try {
      return (await this.#annotations(path))[pathAnnotation] ?? path;
    } catch (error) {
      if (isForbidden(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #annotations(path: string): Promise<Readonly<Record<string, string>>> {
    const { metadata } = await this.#client.cluster(path).resource(logicalClusterKind).get(logicalClusterName);
    return metadata.annotations ?? {};
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }
}
