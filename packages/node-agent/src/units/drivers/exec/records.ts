import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootId, startTime } from '../../../processes/proc.ts';
import type { RoomState } from '../driver.ts';
import { decodePairs } from './pairs.ts';

const idPattern = /^[a-z0-9][a-z0-9-]{0,100}$/;

/** Ids are parts of paths and names of cgroups. */
export function checkUnitId(id: string): void {
  if (!idPattern.test(id)) throw new Error(`the id of a unit must match ${idPattern.source}, but is ${JSON.stringify(id)}`);
}

/** One start of a unit on disk: `directory/id/incarnation/`. The agent writes `boot` and `notice`, the launcher all other files. */
export class UnitRecords {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  folder(id: string, incarnation?: number): string {
    checkUnitId(id);
    return incarnation === undefined ? join(this.#directory, id) : join(this.#directory, id, String(incarnation));
  }

  /**
   * False if this incarnation was started before. The folder appears with `boot` in it. A power failure may undo that: the engine syncs a record of its own
   * before the program runs.
   */
  async create(id: string, incarnation: number, notice?: string): Promise<boolean> {
    const folder = this.folder(id, incarnation);
    const draft = this.#draft(id);
    await mkdir(draft, { recursive: true, mode: 0o700 });
    if (notice !== undefined) await writeFile(join(draft, 'notice'), notice, { mode: 0o600 });
    await writeFile(join(draft, 'boot'), await bootId(), { mode: 0o600 });
    // Waiters look at the folder of the unit as soon as it is there.
    await mkdir(this.folder(id), { recursive: true, mode: 0o700 });
    try {
      await rename(draft, folder);
      return true;
    } catch (error) {
      if (!['EEXIST', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      await rm(draft, { recursive: true, force: true });
      return false;
    }
  }

  /** Resolves when the record of a start survives a crash of the machine. */
  async sync(id: string, incarnation: number): Promise<void> {
    const file = await open(join(this.folder(id, incarnation), 'boot'));
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async delete(id: string, incarnation?: number): Promise<void> {
    await rm(this.folder(id, incarnation), { recursive: true, force: true });
    if (incarnation === undefined) await rm(this.#draft(id), { recursive: true, force: true });
  }

  /** A record that is being written. No unit has such an id. */
  #draft(id: string): string {
    return join(this.#directory, `.${id}`);
  }

  async ids(): Promise<string[]> {
    const names = await readdir(this.#directory).catch(() => []);
    return names.filter((name) => idPattern.test(name));
  }

  async incarnations(id: string): Promise<number[]> {
    const names = await readdir(this.folder(id)).catch(() => []);
    return names
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .sort((a, b) => a - b);
  }

  async read(id: string, incarnation: number, file: string): Promise<Map<string, string> | undefined> {
    const text = await readText(join(this.folder(id, incarnation), file));
    return text === undefined ? undefined : decodePairs(text);
  }

  async state(id: string, incarnation: number): Promise<RoomState | undefined> {
    const [boot, monitor, started] = await Promise.all([
      readText(join(this.folder(id, incarnation), 'boot')),
      this.monitor(id, incarnation),
      this.read(id, incarnation, 'started'),
    ]);
    // Read last: the launcher writes it before it ends. It alone is sure to survive a power failure.
    const exit = await this.read(id, incarnation, 'exit');
    if (boot === undefined && exit === undefined) return undefined;
    const startedAt = started?.get('startedAt') ?? '';
    if (exit !== undefined) {
      const reason = exit.get('reason') as 'Completed' | 'Error' | 'OutOfMemory';
      return { phase: 'exited', code: Number(exit.get('code')), reason, startedAt, finishedAt: exit.get('finishedAt') ?? '' };
    }
    if (monitor !== undefined && started !== undefined) {
      const address = started.get('address');
      const pid = Number(started.get('pid'));
      if (address !== undefined) return { phase: 'running', pid, startedAt, address };
      const notice = await readText(join(this.folder(id, incarnation), 'notice'));
      return { phase: 'running', pid, startedAt, ...(notice !== undefined && { notice }) };
    }
    if (boot !== (await bootId())) return { phase: 'lost', message: 'the machine restarted' };
    if (started === undefined) return { phase: 'lost', message: 'it was about to start when the agent ended' };
    return { phase: 'lost', message: 'its launcher was killed' };
  }

  /** The pid of the live launcher. */
  async monitor(id: string, incarnation: number): Promise<number | undefined> {
    const [record, boot] = await Promise.all([this.read(id, incarnation, 'monitor'), readText(join(this.folder(id, incarnation), 'boot'))]);
    if (record === undefined || boot !== (await bootId())) return undefined;
    const pid = Number(record.get('pid'));
    return (await startTime(pid)) === record.get('startTime') ? pid : undefined;
  }

  /** Oldest first. */
  async logs(id: string, incarnation: number): Promise<string[]> {
    const folder = this.folder(id, incarnation);
    const names = await readdir(folder).catch(() => []);
    const numbers = names.filter((name) => name.startsWith('output.')).map((name) => Number(name.slice('output.'.length)));
    return numbers.sort((a, b) => a - b).map((number) => join(folder, `output.${number}`));
  }
}

async function readText(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}
