import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessGroup } from './cgroup.ts';
import {
  checkId,
  type ProcessDriver,
  ProcessExists,
  ProcessesRemain,
  type ProcessOutput,
  type ProcessSpec,
  type ProcessState,
} from './driver.ts';
import { bootId, isMarked, processEntry, processesOf, processWords } from './proc.ts';
import { records } from './shim.ts';

/** In milliseconds, between two looks at processes that are ending. */
const interval = 20;
/** In milliseconds: a shim that has not begun by then never will. */
const startTimeout = 10_000;

/** A shim that is being started. */
export interface Starting {
  /** Why it could not be started; undefined as long as it may begin. */
  failure(): string | undefined;
}

/** The part of a driver that does not depend on who starts the shim: its records, and the end of its processes. */
export abstract class ShimDriver implements ProcessDriver {
  abstract readonly name: ProcessDriver['name'];
  /** In milliseconds: how long processes may take to end after SIGKILL. */
  protected readonly forcedLimit: number = 15_000;
  readonly #directory: string;

  /** `directory` holds one folder for each process. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Starts the shim with its arguments, which begin with the folder of its records. */
  protected abstract launch(spec: ProcessSpec, folder: string): Promise<Starting>;

  /** The cgroup of a process; undefined without cgroups. */
  protected abstract groupOf(id: string): Promise<ProcessGroup | undefined>;

  protected send(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended meanwhile.
    }
  }

  async start(spec: ProcessSpec): Promise<void> {
    checkId(spec.id);
    const folder = await this.#createRecords(spec);
    const starting = await this.launch(spec, folder);
    for (let waited = 0; waited < startTimeout; waited += interval) {
      // In this order: a short process has written its pid before it ends.
      const failure = starting.failure();
      if ((await read(join(folder, records.pid))) !== undefined) return;
      if (failure !== undefined) throw new Error(`the process ${spec.id} could not be started in ${folder}: ${failure}`);
      await sleep(interval);
    }
    throw new Error(`the process ${spec.id} could not be started in ${folder}: it did not begin in time`);
  }

  async find(id: string): Promise<ProcessState | undefined> {
    checkId(id);
    const folder = join(this.#directory, id);
    if ((await read(join(folder, records.spec))) === undefined) return undefined;
    const [pidText, boot] = await Promise.all([read(join(folder, records.pid)), read(join(folder, records.boot))]);
    const isRunning = pidText !== undefined && boot === (await bootId()) && (await isShim(Number(pidText), id));
    // Read last: the exit code is written before the shim ends.
    const exit = await read(join(folder, records.exit));
    if (exit !== undefined) return { phase: 'exited', code: Number(exit) };
    if (isRunning) return { phase: 'running', pid: Number(pidText) };
    if (pidText === undefined) return { phase: 'lost', reason: 'it was about to start when the agent ended' };
    return { phase: 'lost', reason: boot === (await bootId()) ? 'it was killed from outside' : 'the machine restarted' };
  }

  async output(id: string): Promise<ProcessOutput> {
    checkId(id);
    const folder = join(this.#directory, id);
    // In this order: the output is truncated before it is complete.
    const complete = await exists(join(folder, records.complete));
    return { file: join(folder, records.output), truncated: await exists(join(folder, records.truncated)), complete };
  }

  async kill(id: string, grace: number): Promise<'ended' | 'forced'> {
    const until = performance.now() + grace;
    const session = await this.#sessionOf(id);
    const group = await this.groupOf(id);
    let forcedAt: number | undefined;
    let asked: ReadonlySet<number> = new Set();
    for (;;) {
      const left = await this.#processes(id, { session, group });
      if (left.length === 0) break;
      const now = performance.now();
      if (forcedAt !== undefined && now >= forcedAt + this.forcedLimit) throw await remaining(left);
      if (now >= until) forcedAt ??= now;
      const isForced = forcedAt !== undefined;
      if (isForced) await group?.killAll();
      for (const pid of left) if (isForced || !asked.has(pid)) this.send(pid, isForced ? 'SIGKILL' : 'SIGTERM');
      asked = new Set([...asked, ...left]);
      await sleep(interval);
    }
    await group?.remove();
    return forcedAt === undefined ? 'ended' : 'forced';
  }

  async forget(id: string): Promise<void> {
    if ((await this.find(id))?.phase === 'running') throw new Error(`the process ${id} is still running`);
    await (await this.groupOf(id))?.remove();
    await rm(join(this.#directory, id), { recursive: true, force: true });
  }

  async list(): Promise<string[]> {
    return readdir(this.#directory).catch(() => []);
  }

  /** Written and synced before the process starts, so that an id is never used twice. */
  async #createRecords(spec: ProcessSpec): Promise<string> {
    const folder = join(this.#directory, spec.id);
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    try {
      await mkdir(folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw new ProcessExists(`a process ${spec.id} was started before`);
      throw error;
    }
    const { id, command, workingDirectory, outputLimit } = spec;
    await writeSynced(join(folder, records.boot), await bootId());
    // The environment may hold secrets and is not needed to find the process again.
    await writeSynced(join(folder, records.spec), JSON.stringify({ id, command, workingDirectory, outputLimit }));
    return folder;
  }

  async #sessionOf(id: string): Promise<number | undefined> {
    const state = await this.find(id);
    return state?.phase === 'running' ? (await processEntry(state.pid))?.session : undefined;
  }

  async #processes(
    id: string,
    { session, group }: { readonly session: number | undefined; readonly group: ProcessGroup | undefined },
  ): Promise<number[]> {
    const members = (await group?.members()) ?? [];
    const entries = await Promise.all(members.map(processEntry));
    const alive = entries.filter((entry) => entry !== undefined && !entry.isZombie).map((entry) => entry!.pid);
    return alive.length > 0 ? alive : processesOf(id, session);
  }
}

/** Pids are reused, so the process must also carry the marker. */
async function isShim(pid: number, id: string): Promise<boolean> {
  const entry = await processEntry(pid);
  return entry !== undefined && !entry.isZombie && (await isMarked(pid, id));
}

const mostNamed = 5;

async function remaining(pids: readonly number[]): Promise<ProcessesRemain> {
  const named = await Promise.all(pids.slice(0, mostNamed).map(processWords));
  const more = pids.length - named.length;
  return new ProcessesRemain(`SIGKILL does not end ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

async function read(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch {
    return undefined;
  }
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
