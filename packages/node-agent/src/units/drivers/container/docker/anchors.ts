import { createHash } from 'node:crypto';
import { lstat, readFile, readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { type Entry, tar } from '../../../../archive/tar.ts';
import type { UnitRoom } from '../../driver.ts';
import { type Engine, EngineError } from '../engine.ts';
import { holderCommand } from '../holder.ts';

export interface AnchorsOptions {
  readonly engine: Engine;
  /** Of the paths of the API. */
  readonly prefix: string;
  /** A file with a filter of system calls. */
  readonly filter: string;
}

export interface Anchor {
  readonly name: string;
  /** On the node. */
  readonly pid: number;
  /** From now on, it ends with this process of its pid namespace. */
  follow(pid: string): Promise<void>;
  close(): void;
}

const anchorLabel = 'dev.capstan.anchor';
/** Folders at the top that Perl needs. Some distributions have links there instead. */
const systemFolders = ['bin', 'lib', 'lib32', 'lib64', 'libx32', 'sbin', 'usr'];

/**
 * Containers whose namespaces others enter, one for each start of a unit. Docker knows no namespaces at paths. An anchor has no network until the driver
 * `exec` gives it one, no rights and no files but the node's programs, read-only.
 */
export class Anchors {
  readonly #options: AnchorsOptions;
  #image: Promise<AnchorImage> | undefined;

  constructor(options: AnchorsOptions) {
    this.#options = options;
  }

  /** Makes the image of anchors, which is empty. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { engine, prefix } = this.#options;
    const { name, archive } = await this.#describe();
    if ((await engine.find({ path: `${prefix}/images/${encodeURIComponent(name)}/json` })) !== undefined) return;
    const [repository, tag] = [name.slice(0, name.lastIndexOf(':')), name.slice(name.lastIndexOf(':') + 1)];
    await engine.call({
      method: 'POST',
      path: `${prefix}/images/create?fromSrc=-&repo=${encodeURIComponent(repository)}&tag=${tag}`,
      content: { type: 'application/x-tar', data: archive },
      signal,
    });
  }

  async start(room: UnitRoom, incarnation: number): Promise<Anchor> {
    const { engine, prefix } = this.#options;
    const name = `capstan-${room.id}-${incarnation}-anchor`;
    const path = `${prefix}/containers/${name}`;
    await engine.call({ method: 'POST', path: `${prefix}/containers/create?name=${name}`, body: await this.#body(room) });
    const socket = await engine.hijack({ method: 'POST', path: `${path}/attach?stream=1&stdin=1&stdout=1&stderr=1` });
    try {
      const ready = firstOutput(socket);
      await engine.call({ method: 'POST', path: `${path}/start` });
      await ready;
      const { State } = await engine.call<{ readonly State: { readonly Pid: number } }>({ path: `${path}/json` });
      if (State.Pid === 0) throw new EngineError(500, 'the anchor of the container has ended');
      return {
        name,
        pid: State.Pid,
        follow: (pid) => new Promise((resolve) => void socket.write(`${pid}\n`, () => resolve())),
        close: () => socket.destroy(),
      };
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  /** Of all starts of a unit. Can be repeated. */
  async remove(id: string): Promise<void> {
    const { engine, prefix } = this.#options;
    const filters = encodeURIComponent(JSON.stringify({ label: [`${anchorLabel}=${id}`] }));
    const found = await engine.call<readonly { readonly Id: string }[]>({ path: `${prefix}/containers/json?all=1&filters=${filters}` });
    for (const { Id } of found) await removeContainer(engine, `${prefix}/containers/${Id}`);
  }

  async #body(room: UnitRoom): Promise<object> {
    const { name, mounts } = await this.#describe();
    return {
      Image: name,
      // Containers that enter its network have its name.
      Hostname: room.hostname,
      Entrypoint: holderCommand,
      Env: [],
      OpenStdin: true,
      StdinOnce: false,
      Labels: { [anchorLabel]: room.id },
      HostConfig: {
        NetworkMode: room.network === 'Host' ? 'host' : 'none',
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true', `seccomp=${await readFile(this.#options.filter, 'utf8')}`],
        ReadonlyRootfs: true,
        PidsLimit: 8,
        UsernsMode: 'host',
        IpcMode: 'private',
        LogConfig: { Type: 'none' },
        RestartPolicy: { Name: 'no' },
        Mounts: mounts.map((path) => ({ Type: 'bind', Source: path, Target: path, ReadOnly: true })),
      },
    };
  }

  #describe(): Promise<AnchorImage> {
    this.#image ??= describeImage();
    return this.#image;
  }
}

interface AnchorImage {
  /** It changes with the content. */
  readonly name: string;
  readonly archive: Buffer;
  /** Folders of the node that anchors see. */
  readonly mounts: readonly string[];
}

async function describeImage(): Promise<AnchorImage> {
  const entries: Entry[] = [];
  const mounts: string[] = [];
  for (const path of systemFolders) {
    const found = await lstat(`/${path}`).catch(() => undefined);
    if (found?.isSymbolicLink()) entries.push({ path, type: 'link', target: await readlink(`/${path}`) });
    else if (found?.isDirectory()) {
      entries.push({ path, type: 'directory' });
      mounts.push(`/${path}`);
    }
  }
  const archive = tar(entries);
  const name = `localhost/capstan-anchor:${createHash('sha256').update(archive).digest('hex').slice(0, 16)}`;
  return { name, archive, mounts };
}

/** Another request may be deleting it, which answers 409. */
export async function removeContainer(engine: Engine, path: string): Promise<void> {
  await engine.find({ method: 'DELETE', path: `${path}?force=1&v=1` }).catch((error: unknown) => {
    if (!(error instanceof EngineError) || error.status !== 409) throw error;
  });
}

function firstOutput(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = '';
    socket.on('data', (data: Buffer) => {
      seen += data.toString('latin1');
      if (seen.includes('ready')) resolve();
    });
    socket.once('close', () => reject(new EngineError(500, `the anchor of the container did not start: ${seen.slice(0, 1000)}`)));
  });
}
