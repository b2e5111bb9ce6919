import { randomInt } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { freeSpace, mebibytes, NoSpace } from '../../disks/space.ts';
import { syncFolder, writeSynced } from '../../units/records/records.ts';
import { VolumeProblem } from '../problem.ts';
import type { SnapshotOptions, VolumeBackend, VolumeUsage } from './backend.ts';
import { copyIdle, FolderBackend, filesIn } from './folder.ts';
import type { ProjectQuota } from './project-quota.ts';

export interface ProjectOptions {
  /** In bytes: how much of a disk of this size volumes leave free. */
  readonly spare: (disk: number) => number;
  readonly quota: ProjectQuota;
}

/** Written before anything belongs to the project. */
interface Project {
  readonly id: number;
  /** In bytes: the limit. */
  readonly size: number;
}

/**
 * A folder whose files belong to a project of the file system, which limits them. Blocks are not reserved: a volume is created only if all volumes can have their whole
 * size, but other programs of the node may take that space.
 */
export class ProjectBackend implements VolumeBackend {
  readonly name = 'project';
  readonly unlimited = undefined;
  readonly #options: ProjectOptions;
  readonly #folder = new FolderBackend('');
  /** Volumes whose limit this process has set. */
  readonly #set = new Set<string>();

  constructor(options: ProjectOptions) {
    this.#options = options;
  }

  /** The limit is set again by every agent: somebody may have changed it meanwhile. */
  async create(folder: string, size: number): Promise<void> {
    if (this.#set.has(folder) && (await this.exists(folder))) return;
    const known = await readProject(folder);
    const limit = Math.max(size, known?.size ?? 0);
    const { id } = await this.#claim(folder, limit);
    const fresh = `${filesIn(folder)}.new`;
    if (!(await this.#folder.exists(folder))) {
      await rm(fresh, { recursive: true, force: true });
      await mkdir(fresh, { recursive: true, mode: 0o700 });
      await this.#options.quota.assign(fresh, id);
      await rename(fresh, filesIn(folder));
    }
    this.#set.add(folder);
  }

  /** Records the project and limits it, before there are files. */
  async #claim(folder: string, size: number): Promise<Project> {
    const known = await readProject(folder);
    if (known === undefined || known.size < size) await this.#requireSpace(folder, size);
    const project = { id: known?.id ?? (await this.#freeId(folder)), size };
    await this.#options.quota.limit(project.id, size);
    if (known?.size !== size) await writeProject(folder, project);
    return project;
  }

  /** A random number, because other programs and other agents of the machine choose numbers, too. */
  async #freeId(folder: string): Promise<number> {
    const taken = new Set((await projectsBeside(folder)).map(({ id }) => id));
    for (;;) {
      const id = randomInt(2 ** 30, 2 ** 31 - 1);
      if (!taken.has(id)) return id;
    }
  }

  /** The other volumes may still need their whole size. */
  async #requireSpace(folder: string, size: number): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const directory = dirname(folder);
    const promised = (await projectsBeside(folder)).map(async (one) => Math.max(0, one.size - (await this.#used(one.folder))));
    const total = (await Promise.all(promised)).reduce((sum, bytes) => sum + bytes, 0);
    const free = Math.max(0, (await freeSpace(directory, this.#options.spare)) - total);
    const needed = size - (await this.#used(folder));
    if (needed > free) throw new NoSpace(needed, free, 'volumes');
  }

  async exists(folder: string): Promise<boolean> {
    return (await readProject(folder)) !== undefined && (await this.#folder.exists(folder));
  }

  /** Only while nobody writes: a folder cannot be frozen. */
  async snapshot(source: string, folder: string, options: SnapshotOptions): Promise<void> {
    const { limit, isIdle, signal } = options;
    const usedBytes = await this.#used(source);
    if (usedBytes > limit)
      throw new VolumeProblem(
        'DiskFull',
        `the files of the storage need ${mebibytes(usedBytes)}, which is more than the size of the snapshot; make it larger`,
        { isFinal: true },
      );
    const { id } = await this.#claim(folder, limit);
    await copyIdle({ source, folder, isIdle, signal, prepare: (fresh) => this.#options.quota.assign(fresh, id) });
  }

  open(folder: string): Promise<string> {
    return this.#folder.open(folder);
  }

  async grow(folder: string, size: number): Promise<void> {
    await this.#claim(folder, size);
  }

  usage(folder: string): Promise<VolumeUsage> {
    return this.#options.quota.usage(filesIn(folder));
  }

  /** In bytes; 0 if there is nothing yet. */
  async #used(folder: string): Promise<number> {
    return (await this.#folder.exists(folder)) ? (await this.usage(folder)).usedBytes : 0;
  }

  async remove(folder: string): Promise<void> {
    const project = await readProject(folder);
    await this.#folder.remove(folder);
    if (project !== undefined) await this.#options.quota.limit(project.id, 0);
    await rm(projectIn(folder), { force: true });
    this.#set.delete(folder);
  }
}

const projectIn = (folder: string): string => join(folder, 'project.json');

async function readProject(folder: string): Promise<Project | undefined> {
  const text = await readFile(projectIn(folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Project);
}

async function writeProject(folder: string, project: Project): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeSynced(`${projectIn(folder)}.new`, JSON.stringify(project));
  await rename(`${projectIn(folder)}.new`, projectIn(folder));
  await syncFolder(folder);
}

async function projectsBeside(folder: string): Promise<(Project & { readonly folder: string })[]> {
  const directory = dirname(folder);
  const others = (await readdir(directory)).map((name) => join(directory, name)).filter((path) => path !== folder);
  const projects = others.map(async (path) => {
    const project = await readProject(path);
    return project && { ...project, folder: path };
  });
  return (await Promise.all(projects)).filter((one) => one !== undefined);
}
