import { randomUUID } from 'node:crypto';
import { link, lstat, readFile, rm, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { SharedDirectory, UnitOwner } from '@capstan/api';
import { isObject } from '@capstan/machinery';
import { writeSynced } from '../../units/records/records.ts';
import { VolumeProblem } from '../problem.ts';

/** A directory that the owner of the platform declares to be the same on several nodes. */
export interface DeclaredDirectory {
  readonly name: string;
  readonly path: string;
}

/** The file by which agents see that they have the same directory. The first of them writes it. */
const markerFile = '.capstan-shared-directory';
const id = /^[A-Za-z0-9-]{1,64}$/;

/** The shared directories of this machine. A path is given out only while the directory has the id that the control plane knows. */
export class SharedDirectories {
  readonly #declared: readonly DeclaredDirectory[];
  readonly #log: (line: string) => void;
  readonly #complaints = new Map<string, string>();

  constructor(declared: readonly DeclaredDirectory[], log: (line: string) => void) {
    this.#declared = declared;
    this.#log = log;
  }

  get isEmpty(): boolean {
    return this.#declared.length === 0;
  }

  /** Those that can be used now. */
  async inspect(): Promise<SharedDirectory[]> {
    const found: SharedDirectory[] = [];
    for (const { name, path } of this.#declared)
      try {
        if (!(await isDirectory(path))) throw new Error(`there is no directory ${path}`);
        found.push({ name, id: (await readMarker(path)) ?? (await writeMarker(path)) });
        this.#complaints.delete(name);
      } catch (error) {
        const why = (error as Error).message;
        if (this.#complaints.get(name) !== why) this.#log(`the shared directory ${name} cannot be used: ${why}`);
        this.#complaints.set(name, why);
      }
    return found;
  }

  /** The folder of a volume. No part of it can lead out of the folder of its tenant. Rejects with a VolumeProblem unless this machine has the directory. */
  async folderOf({ name, id: wanted }: SharedDirectory, owner: Pick<UnitOwner, 'cluster' | 'namespace'>, volume: string): Promise<string> {
    const declared = this.#declared.find((one) => one.name === name);
    if (declared === undefined) throw new VolumeProblem('NodeProblem', `this node has no shared directory ${name}`);
    const found = await readMarker(declared.path).catch(() => undefined);
    if (found !== wanted)
      throw new VolumeProblem(
        'NodeProblem',
        `the shared directory ${name} of this node is not the one that has the storage; is it mounted?`,
      );
    return join(declared.path, 'tenants', safe(owner.cluster), safe(owner.namespace), safe(volume));
  }
}

/** `NAME=PATH`. */
export function parseDirectory(text: string): DeclaredDirectory | undefined {
  const [, name, path] = /^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)=(.+)$/s.exec(text) ?? [];
  return name === undefined || path === undefined || name === 'local' || !isAbsolute(path) ? undefined : { name, path };
}

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

async function readMarker(path: string): Promise<string | undefined> {
  const file = join(path, markerFile);
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return undefined;
  const content: unknown = found.isFile() ? JSON.parse(await readFile(file, 'utf8')) : undefined;
  if (isObject(content) && typeof content['id'] === 'string' && id.test(content['id'])) return content['id'];
  throw new Error(`${file} is not a file that an agent has written`);
}

/** If several agents write it at the same time, the first one counts. */
async function writeMarker(path: string): Promise<string> {
  const fresh = join(path, `${markerFile}.${randomUUID()}`);
  await writeSynced(fresh, JSON.stringify({ id: randomUUID() }));
  try {
    await link(fresh, join(path, markerFile)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(fresh, { force: true });
  }
  const written = await readMarker(path);
  if (written === undefined) throw new Error(`${join(path, markerFile)} has disappeared`);
  return written;
}

/** One part of a path, whatever the text is. */
const safe = (text: string): string => encodeURIComponent(text).replace(/^\.+/, (dots) => '%2E'.repeat(dots.length));
