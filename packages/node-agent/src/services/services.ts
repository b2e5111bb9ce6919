import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BackoffOptions, sameJson } from '@capstan/machinery';
import { writeAtomically } from '@capstan/pki';
import { type ProcessDriver, ProcessExists, ProcessesRemain } from '../processes/driver.ts';

/** A program that the agent keeps running. */
export interface ServiceSpec {
  readonly command: readonly [program: string, ...args: string[]];
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether processes that it started stay when it ends and is started again, as the jobs of a batch system do. They end when the service is stopped. */
  readonly keepsProcesses?: true;
}

interface Stored extends ServiceSpec {
  /** Counts the changes of the service; a part of the ids of its processes. */
  readonly version: number;
}

export interface ServicesOptions {
  /** Holds one file for each service. They may contain secrets. */
  readonly directory: string;
  readonly processes: ProcessDriver;
  readonly backoff?: BackoffOptions;
  /** In milliseconds, between two looks at a process. */
  readonly interval?: number;
  readonly log: (line: string) => void;
}

/** In milliseconds: how long a process may take to end. */
const grace = 10_000;
/** In milliseconds: a process that ran this long restarts as if it had never failed. */
const healthyAfter = 30_000;
const outputLimit = 16 << 20;
/** How many earlier runs of a service may have left processes. */
const mostRuns = 16;
/** The name of a file tells whether its service is to run, or is being stopped: renaming it needs no space on the disk. */
const keptExtension = '.json';
const stoppingExtension = '.stopping';

interface Kept {
  readonly stored: Stored;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Services of a machine without systemd: processes that are restarted when they end, and that outlive the agent, as the next one finds them again. */
export class Services implements AsyncDisposable {
  readonly #options: ServicesOptions;
  readonly #kept = new Map<string, Kept>();

  constructor(options: ServicesOptions) {
    this.#options = options;
  }

  /** Continues with all services that are stored. One that was being stopped is not started again, and its processes end with the next stop. */
  async resume(): Promise<void> {
    const { directory } = this.#options;
    for (const file of await readdir(directory).catch(() => [])) {
      const extension = [keptExtension, stoppingExtension].find((one) => file.endsWith(one));
      if (extension === undefined) continue;
      const stored = JSON.parse(await readFile(join(directory, file), 'utf8')) as Stored;
      const name = file.slice(0, -extension.length);
      if (extension === keptExtension) this.#keep(name, stored);
      else this.#kept.set(name, { stored, stop: aborted(), ended: Promise.resolve() });
    }
  }

  /** Whether the service runs, or is stopped if no spec is given. */
  async is(name: string, spec: ServiceSpec | undefined): Promise<boolean> {
    const kept = this.#kept.get(name);
    if (kept === undefined || spec === undefined) return kept === spec;
    // It is being stopped.
    if (kept.stop.signal.aborted) return false;
    const { version: _, ...present } = kept.stored;
    return sameJson(present, spec) && (await this.#running(name, kept.stored)) !== undefined;
  }

  /** Resolves when the process has been started. Replaces a service that has another spec. */
  async ensure(name: string, spec: ServiceSpec): Promise<void> {
    const kept = this.#kept.get(name);
    const before = kept?.stored;
    const { version = 0, ...present } = before ?? {};
    if (before === undefined || kept?.stop.signal.aborted === true || !sameJson(present, spec)) {
      if (before !== undefined) await this.stop(name);
      const stored = { ...spec, version: version === 0 ? Date.now() : version + 1 };
      await mkdir(this.#options.directory, { recursive: true, mode: 0o700 });
      await writeAtomically(this.#file(name), JSON.stringify(stored), 0o600);
      this.#keep(name, stored);
    }
    for (let tries = 0; tries < 100; tries++) {
      if ((await this.#running(name, this.#kept.get(name)!.stored)) !== undefined) return;
      await sleep(this.#interval);
    }
    throw new Error(`the service ${name} does not stay alive`);
  }

  /** Ends the service and forgets it. */
  async stop(name: string): Promise<void> {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    await rename(this.#file(name), this.#file(name, stoppingExtension)).catch(ignoreMissing);
    kept.stop.abort();
    await kept.ended;
    const { processes } = this.#options;
    for (const id of await this.#idsOf(name, kept.stored)) {
      await processes.kill(id, grace);
      await processes.forget(id);
    }
    // Not before: if processes remain, it has not been stopped, and an agent that ends meanwhile leaves the rest to the next one.
    await rm(this.#file(name, stoppingExtension), { force: true });
    this.#kept.delete(name);
  }

  /** Leaves the processes alone. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { stop } of this.#kept.values()) stop.abort();
    await Promise.all([...this.#kept.values()].map(({ ended }) => ended));
  }

  get #interval(): number {
    return this.#options.interval ?? 1_000;
  }

  #keep(name: string, stored: Stored): void {
    const stop = new AbortController();
    const ended = this.#follow(name, stored, stop.signal).catch((error: unknown) =>
      this.#options.log(`the service ${name} is given up: ${String(error)}`),
    );
    this.#kept.set(name, { stored, stop, ended });
  }

  async #follow(name: string, stored: Stored, signal: AbortSignal): Promise<void> {
    const { processes, log, backoff: limits = { base: 500, max: 60_000 } } = this.#options;
    const backoff = new Backoff(limits);
    let next = 1 + Math.max(0, ...(await this.#idsOf(name, stored)).map(numberOf));
    while (!signal.aborted) {
      let current = await this.#running(name, stored);
      const began = performance.now();
      if (current === undefined) {
        current = `${prefixOf(name, stored)}${next++}`;
        await processes
          .start({ id: current, command: stored.command, environment: stored.environment ?? {}, outputLimit })
          .catch((error: unknown) => {
            // A disk without space, for instance: the next try may succeed.
            if (!(error instanceof ProcessExists)) log(`the service ${name} could not be started: ${String(error)}`);
          });
      }
      while (!signal.aborted && (await processes.find(current))?.phase === 'running')
        await sleep(this.#interval, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const state = await processes.find(current);
      // Processes that it started may still run, and would be in the way of the next one, unless it is made for that.
      const runs = stored.keepsProcesses === true ? (await this.#idsOf(name, stored)).sort(byNumber).slice(0, -mostRuns) : [current];
      for (const id of runs) await this.#end(id, name, signal);
      if (signal.aborted) return;
      if (performance.now() - began >= healthyAfter) backoff.reset();
      const wait = backoff.next();
      log(
        `the service ${name} ended (${state?.phase === 'exited' ? `exit code ${state.code}` : (state?.phase ?? 'no record')}), restarting it in ${Math.round(wait)} ms`,
      );
      await sleep(wait, undefined, { signal }).catch(() => {});
    }
  }

  /** Tries again while processes remain: a disk may answer after all. */
  async #end(id: string, name: string, signal: AbortSignal): Promise<void> {
    const { processes, log } = this.#options;
    while (!signal.aborted) {
      try {
        await processes.kill(id, grace);
        return await processes.forget(id);
      } catch (error) {
        if (!(error instanceof ProcessesRemain)) throw error;
        log(`the service ${name} is not restarted yet: ${error.message}`);
        await sleep(this.#interval, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #running(name: string, stored: Stored): Promise<string | undefined> {
    for (const id of await this.#idsOf(name, stored)) if ((await this.#options.processes.find(id))?.phase === 'running') return id;
    return undefined;
  }

  async #idsOf(name: string, stored: Stored): Promise<string[]> {
    const prefix = prefixOf(name, stored);
    return (await this.#options.processes.list()).filter((id) => id.startsWith(prefix) && /^\d+$/.test(id.slice(prefix.length)));
  }

  #file(name: string, extension = keptExtension): string {
    return join(this.#options.directory, `${name}${extension}`);
  }
}

function aborted(): AbortController {
  const controller = new AbortController();
  controller.abort();
  return controller;
}

/** It has been renamed before. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

const numberOf = (id: string): number => Number(id.split('-').at(-1));
const byNumber = (one: string, other: string): number => numberOf(one) - numberOf(other);

function prefixOf(name: string, { version }: Stored): string {
  return `service-${createHash('sha256').update(name).digest('hex').slice(0, 20)}-${version}-`;
}
