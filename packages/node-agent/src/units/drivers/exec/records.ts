import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
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

  /** False if this incarnation was started before. `recorded` resolves when the record survives a crash of the machine. */
  async create(id: string, incarnation: number, notice?: string): Promise<{ readonly recorded: Promise<void> } | false> {
    const folder = this.folder(id, incarnation);
    await mkdir(this.folder(id), { recursive: true, mode: 0o700 });
    try {
      await mkdir(folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
    if (notice !== undefined) await writeFile(join(folder, 'notice'), notice, { mode: 0o600 });
    const file = await open(join(folder, 'boot'), 'wx', 0o600);
    try {
      await file.writeFile(await bootId());
    } catch (error) {
      await file.close();
      throw error;
    }
    const recorded = file.sync().finally(() => file.close());
    // A caller that waits for it learns of a failure.
    recorded.catch(() => {});
    return { recorded };
  }

  async delete(id: string, incarnation?: number): Promise<void> {
    await rm(this.folder(id, incarnation), { recursive: true, force: true });
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
    if (boot === undefined) return undefined;
    // Read last: the launcher writes it before it ends.
    const exit = await this.read(id, incarnation, 'exit');
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
