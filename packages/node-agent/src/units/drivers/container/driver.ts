import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { NoSpace } from '../../../disks/space.ts';
import { type WatchedDisk, whileSpace } from '../../../disks/watch.ts';
import { allocationMarker, bootId, isMarked } from '../../../processes/proc.ts';
import {
  type RoomCommand,
  type RoomLog,
  type RoomState,
  type RoomStreams,
  type RoomUsage,
  type StartOptions,
  type UnitDriver,
  UnitProblem,
  type UnitRoom,
} from '../driver.ts';
import { UnitRecords } from '../exec/records.ts';
import type { BoxOutput } from './box-output.ts';
import { groupsOfProcess, usageOf } from './cgroups.ts';
import type { BoxState } from './dialect.ts';
import { EngineError } from './engine.ts';
import { closeLayer, type LayerOptions } from './layer.ts';
import { type Backend, makeBox } from './make-box.ts';
import { MemoryWatch } from './memory-watch.ts';
import { type PullOptions, pullImage } from './pull.ts';
import { readRecord, type Started, writeRecord } from './records.ts';
import type { BoxOptions } from './spec.ts';
import { isMissingCommand, startProblem } from './start-problem.ts';
import { streamsOf } from './streams.ts';

export interface ContainerDriverOptions extends BoxOptions {
  /** Holds a folder for each unit. */
  readonly directory: string;
  readonly isolation: 'full' | 'none' | undefined;
  readonly why?: string;
  /** Undefined if this machine has no engine. */
  readonly backend?: Backend;
  /** How large the files may become that a program changes; undefined if that cannot be limited. */
  readonly layer?: LayerOptions | undefined;
  /** The disk of the engine. */
  readonly images?: WatchedDisk;
  readonly onDispose?: () => Promise<void>;
}

/** In milliseconds: how long an engine that does not answer is asked again, and the pause between two questions. */
const patience = 60_000;
const pause = 100;

/** Runs images with Podman or Docker. With Podman, containers need neither the agent nor the API of their engine to go on. */
export class ContainerDriver implements UnitDriver, AsyncDisposable {
  readonly name = 'container';
  readonly isolation: 'full' | 'none' | undefined;
  readonly why?: string;
  readonly #options: ContainerDriverOptions;
  readonly #records: UnitRecords;
  readonly #logs = new Map<string, BoxOutput>();
  /** The folders of starts of this agent whose end it has not recorded yet. */
  readonly #open = new Set<string>();
  readonly #watch = new MemoryWatch();

  constructor(options: ContainerDriverOptions) {
    this.#options = options;
    this.#records = new UnitRecords(options.directory);
    this.isolation = options.isolation;
    if (options.why !== undefined) this.why = options.why;
  }

  get #backend(): Backend {
    const { backend } = this.#options;
    if (backend === undefined) throw new UnitProblem('DriverUnavailable', this.why ?? 'this machine has no container engine');
    return backend;
  }

  async prepare(room: UnitRoom, { onStep, signal }: Parameters<UnitDriver['prepare']>[1]): Promise<void> {
    const { engine, dialect, surroundings } = this.#backend;
    const image = imageOf(room);
    const isHere = await dialect.hasImage(engine, image).catch((error: unknown) => {
      throw startProblem(error);
    });
    if (!isHere) await this.#pull(image, { pullConfig: room.pullConfig, onStep, signal });
    await surroundings.prepare(room, { onStep, signal });
  }

  /** Images may be larger than the disk. */
  async #pull(image: string, options: Omit<PullOptions, 'prefix'>): Promise<void> {
    const { engine, dialect } = this.#backend;
    const { images } = this.#options;
    const pull = (signal: AbortSignal): Promise<void> => pullImage(engine, image, { ...options, prefix: dialect.pullPrefix, signal });
    try {
      await (images === undefined ? pull(options.signal) : whileSpace(images, options.signal, pull));
    } catch (error) {
      if (!(error instanceof NoSpace)) throw error;
      throw new UnitProblem('DiskFull', `the image ${image} cannot be pulled: the disk of the node has no space left for images`, {
        cause: error,
      });
    }
  }

  /** A container that never starts has the files of its image. */
  async imageFiles<T>(image: string, use: (archive: Readable) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { engine, dialect } = this.#backend;
    const name = `capstan-files-${randomUUID()}`;
    const isHere = await dialect.hasImage(engine, image).catch((error: unknown) => {
      throw startProblem(error);
    });
    if (!isHere) await this.#pull(image, { onStep: () => {}, signal });
    try {
      const archive = await dialect
        .createIdle(engine, { name, image }, signal)
        .then(() => engine.stream({ path: `${dialect.prefix}/containers/${name}/export`, signal }))
        .catch((error: unknown) => {
          signal.throwIfAborted();
          throw startProblem(error);
        });
      return await use(archive);
    } finally {
      await dialect.remove(engine, name).catch(() => {});
    }
  }

  async start(room: UnitRoom, incarnation: number, { permitted }: StartOptions = {}): Promise<void> {
    const { engine, dialect, surroundings } = this.#backend;
    imageOf(room);
    const created = await this.#records.create(room.id, incarnation).catch(reportFullDisk);
    if (!created) return;
    const recorded = this.#records.sync(room.id, incarnation);
    // A failed start need not wait for it.
    recorded.catch(() => {});
    const [folder, name] = [this.#records.folder(room.id, incarnation), nameOf(room.id, incarnation)];
    let started: Started | undefined;
    try {
      await makeBox(this.#backend, room, { ...this.#options, name, folder, incarnation });
      await recorded.catch(reportFullDisk);
      await dialect.init?.(engine, name);
      // Before the program starts, if possible: it may end before anybody has looked at it.
      const held = dialect.init && (await this.#follow(room.id, await this.#inspect(room.id, incarnation)));
      await permitted;
      await engine.call({ method: 'POST', path: `${dialect.prefix}/containers/${name}/start` });
      started = held && { ...held, startedAt: new Date().toISOString() };
    } catch (error) {
      await closeLayer(folder).catch(() => {});
      await dialect.remove(engine, name).catch(() => {});
      await surroundings.end(room.id).catch(() => {});
      await this.#records.delete(room.id, incarnation);
      throw startProblem(error);
    }
    started ??= await this.#follow(room.id, await this.#inspect(room.id, incarnation));
    if (started === undefined) return;
    this.#open.add(folder);
    await this.#recordStart(room.id, incarnation, started);
  }

  /** From now on, the surroundings of a container end with its process. */
  async #follow(id: string, box: BoxState | undefined): Promise<Started | undefined> {
    if (box === undefined) return undefined;
    const [groups] = await Promise.all([groupsOfProcess(box.pid), this.#backend.surroundings.follow(id, box.pid)]);
    const allocation = Object.entries(box.labels).find(([label]) => label.endsWith('.allocation'))?.[1] ?? '';
    const { pid, startedAt, id: container } = box;
    return { pid, startedAt, container, allocation, ...(groups && { groups }) };
  }

  async #recordStart(id: string, incarnation: number, started: Started): Promise<void> {
    await writeRecord(this.#records.folder(id, incarnation), 'started', started);
    this.#keep(id, incarnation);
  }

  /** From now on, nothing is lost of what the program writes, and of what the kernel knows about its end. */
  #keep(id: string, incarnation: number): void {
    const { surroundings } = this.#backend;
    this.#log(id, incarnation).keep();
    this.#watch.keep(this.#records.folder(id, incarnation), (signal) => surroundings.ended(id, signal));
  }

  async find(id: string, incarnation: number): Promise<RoomState | undefined> {
    const state = await this.#find(id, incarnation);
    if (state?.phase !== 'running') this.#open.delete(this.#records.folder(id, incarnation));
    return state;
  }

  async #find(id: string, incarnation: number): Promise<RoomState | undefined> {
    const folder = this.#records.folder(id, incarnation);
    const boot = await readFile(join(folder, 'boot'), 'utf8').catch(() => undefined);
    if (boot === undefined) return undefined;
    const exit = await readRecord(folder, 'exit');
    if (exit !== undefined) return exit;
    if (boot !== (await bootId())) return { phase: 'lost', message: 'the machine restarted' };
    const { surroundings } = this.#backend;
    const started = await readRecord(folder, 'started');
    if (started !== undefined && (await surroundings.isAlive(id, incarnation))) {
      this.#keep(id, incarnation);
      const address = await surroundings.address(id, incarnation);
      const { pid, startedAt, container } = started;
      return { phase: 'running', pid, startedAt, container, ...(address !== undefined && { address }) };
    }
    return this.#ask(id, incarnation);
  }

  /** The state that the engine reports. A program whose namespaces have ended has ended too, even if the engine has not noticed it yet. */
  async #ask(id: string, incarnation: number): Promise<RoomState> {
    const { surroundings } = this.#backend;
    const folder = this.#records.folder(id, incarnation);
    const until = performance.now() + patience;
    let outOfMemory = false;
    for (;;) {
      // Before the engine is asked: it deletes the cgroup soon after the end.
      outOfMemory ||= await this.#watch.hasRunOut(folder);
      const started = await readRecord(folder, 'started');
      const box = await this.#inspect(id, incarnation);
      if (box === undefined) return { phase: 'lost', message: 'its container was deleted' };
      if (box.phase === 'created') return { phase: 'lost', message: 'it was about to start when the agent ended' };
      if (box.phase === 'ended')
        return this.#recordExit(id, incarnation, { ...box, outOfMemory: box.outOfMemory || (box.code === 137 && outOfMemory) });
      const followed = started ?? (await this.#follow(id, box));
      if (started === undefined && followed !== undefined) await this.#recordStart(id, incarnation, followed);
      if ((await surroundings.isAlive(id, incarnation)) !== false || performance.now() > until) {
        const address = (await surroundings.address(id, incarnation)) ?? box.address;
        return { phase: 'running', pid: box.pid, startedAt: box.startedAt, container: box.id, ...(address !== undefined && { address }) };
      }
      await sleep(10);
    }
  }

  async #recordExit(id: string, incarnation: number, box: BoxState): Promise<RoomState> {
    const folder = this.#records.folder(id, incarnation);
    // Nothing that the program has started may outlive it.
    await this.#backend.surroundings.end(id);
    const { code, outOfMemory, startedAt, finishedAt } = box;
    const reason = code === 0 ? 'Completed' : outOfMemory ? 'OutOfMemory' : 'Error';
    const state = { phase: 'exited', code, reason, startedAt, finishedAt } as const;
    const output = this.#log(id, incarnation);
    await output.finish();
    await writeRecord(folder, 'exit', state);
    output.close();
    // Nobody waits for it. The removal of the unit tries again.
    closeLayer(folder).catch(() => {});
    return state;
  }

  /** Asks again while the engine does not answer: its API may be about to start. */
  async #inspect(id: string, incarnation: number): Promise<BoxState | undefined> {
    const { engine, dialect } = this.#backend;
    const until = performance.now() + patience;
    for (;;) {
      try {
        return await dialect.inspect(engine, nameOf(id, incarnation));
      } catch (error) {
        if (!(error instanceof EngineError) || error.status !== 0 || performance.now() > until) throw error;
        await sleep(pause);
      }
    }
  }

  async changed(id: string, incarnation: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const state = await this.find(id, incarnation);
    if (state !== undefined && state.phase !== 'running') return;
    await this.#backend.surroundings.changed(id, incarnation, signal);
  }

  async stop(id: string, grace: number): Promise<void> {
    const { engine, dialect, surroundings } = this.#backend;
    for (const incarnation of await this.#records.incarnations(id)) {
      if ((await this.find(id, incarnation))?.phase !== 'running') continue;
      const kill = (signal: string): Promise<unknown> =>
        engine
          .call({ method: 'POST', path: `${dialect.prefix}/containers/${nameOf(id, incarnation)}/kill?signal=${signal}` })
          .catch(() => {});
      if (grace > 0) {
        await kill('SIGTERM');
        await this.#ended(id, incarnation, AbortSignal.timeout(grace));
      }
      await surroundings.end(id);
      while ((await this.find(id, incarnation))?.phase === 'running') {
        await kill('SIGKILL');
        await this.#ended(id, incarnation, AbortSignal.timeout(pause));
      }
    }
    await surroundings.end(id);
  }

  async #ended(id: string, incarnation: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.find(id, incarnation))?.phase === 'running') await this.changed(id, incarnation, signal);
  }

  async log(id: string, incarnation: number): Promise<RoomLog | undefined> {
    // Recording the end takes a while, and readers need not wait for that before they get the output.
    if (this.#open.has(this.#records.folder(id, incarnation))) return { files: await this.#log(id, incarnation).files(), complete: false };
    // In this order: all output is there before a program counts as ended.
    const state = await this.find(id, incarnation);
    if (state === undefined) return undefined;
    return { files: await this.#log(id, incarnation).files(), complete: state.phase !== 'running' };
  }

  #log(id: string, incarnation: number): BoxOutput {
    const folder = this.#records.folder(id, incarnation);
    let output = this.#logs.get(folder);
    if (output === undefined) {
      const { engine, dialect } = this.#backend;
      output = dialect.output(engine, { folder, name: nameOf(id, incarnation), log: this.#options.log });
      this.#logs.set(folder, output);
    }
    return output;
  }

  async exec(id: string, { command, stdin, tty }: RoomCommand): Promise<RoomStreams> {
    const { engine, dialect } = this.#backend;
    const { name, allocation } = await this.#live(id);
    const { Id: session } = await engine.call<{ readonly Id: string }>({
      method: 'POST',
      path: `${dialect.prefix}/containers/${name}/exec`,
      body: {
        Cmd: command,
        AttachStdin: stdin,
        AttachStdout: true,
        AttachStderr: true,
        Tty: tty,
        ...(tty && { Env: ['TERM=xterm'] }),
      },
    });
    const path = `${dialect.prefix}/exec/${session}`;
    const socket = await engine
      .hijack({ method: 'POST', path: `${path}/start`, body: { Detach: false, Tty: tty } })
      .catch((error: unknown) => {
        throw startProblem(error);
      });
    const inspect = (): Promise<{ readonly Running: boolean; readonly ExitCode: number; readonly Pid: number }> =>
      engine.call({ path: `${path}/json` });
    return streamsOf(socket, {
      stdin,
      tty,
      isLossy: false,
      exitCode: async (start) => {
        let session = await inspect();
        for (; session.Running; session = await inspect()) await sleep(10);
        if (isMissingCommand(session.ExitCode, start)) throw new UnitProblem('BadCommand', start.trim(), { isFinal: true });
        return session.ExitCode;
      },
      resize: ({ columns, rows }) => engine.call({ method: 'POST', path: `${path}/resize?w=${columns}&h=${rows}` }),
      // Engines let a command go on when its client has left.
      onClose: () =>
        void inspect().then(
          ({ Running, Pid }) => (Running && Pid > 1 ? endGroup(Pid, allocation) : undefined),
          () => {},
        ),
    });
  }

  async attach(id: string, { stdin }: { readonly stdin: boolean }): Promise<RoomStreams> {
    const { engine, dialect } = this.#backend;
    const { name, incarnation } = await this.#live(id);
    const tty = (await this.#inspect(id, incarnation))?.tty ?? false;
    const path = `${dialect.prefix}/containers/${name}`;
    const socket = await engine.hijack({ method: 'POST', path: `${path}/attach?stream=true&stdout=true&stderr=true&stdin=${stdin}` });
    return streamsOf(socket, {
      stdin,
      tty,
      // The program must never wait for a client.
      isLossy: true,
      exitCode: async () => {
        await this.#ended(id, incarnation, AbortSignal.timeout(patience));
        const state = await this.find(id, incarnation);
        return state?.phase === 'exited' ? state.code : undefined;
      },
      resize: ({ columns, rows }) => engine.call({ method: 'POST', path: `${path}/resize?w=${columns}&h=${rows}` }),
    });
  }

  async connect(id: string, port: number): Promise<Duplex> {
    await this.#live(id);
    return this.#backend.surroundings.connect(id, port);
  }

  async usage(id: string): Promise<RoomUsage | undefined> {
    const incarnation = (await this.#records.incarnations(id)).at(-1);
    if (incarnation === undefined) return undefined;
    const groups = (await readRecord(this.#records.folder(id, incarnation), 'started'))?.groups;
    return groups && usageOf(groups);
  }

  async remove(id: string): Promise<void> {
    const { engine, dialect, surroundings } = this.#backend;
    await this.stop(id, 0);
    for (const incarnation of await this.#records.incarnations(id)) {
      const folder = this.#records.folder(id, incarnation);
      await closeLayer(folder);
      await dialect.remove(engine, nameOf(id, incarnation));
      this.#logs.get(folder)?.close();
      this.#logs.delete(folder);
      this.#open.delete(folder);
    }
    await surroundings.remove(id);
    await this.#records.delete(id);
  }

  async list(): Promise<string[]> {
    const others = (await this.#options.backend?.surroundings.list()) ?? [];
    return [...new Set([...(await this.#records.ids()), ...others])];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch[Symbol.dispose]();
    for (const log of this.#logs.values()) log.close();
    this.#logs.clear();
    await this.#options.onDispose?.();
  }

  /** The incarnation that runs. */
  async #live(id: string): Promise<{ readonly name: string; readonly incarnation: number; readonly allocation: string }> {
    const incarnation = (await this.#records.incarnations(id)).at(-1);
    if (incarnation === undefined || (await this.find(id, incarnation))?.phase !== 'running')
      throw new Error(`the unit ${id} is not running`);
    const started = await readRecord(this.#records.folder(id, incarnation), 'started');
    return { name: nameOf(id, incarnation), incarnation, allocation: started?.allocation ?? '' };
  }
}

function nameOf(id: string, incarnation: number): string {
  return `capstan-${id}-${incarnation}`;
}

function imageOf({ image }: UnitRoom): string {
  if (image === undefined) throw new UnitProblem('DriverUnavailable', 'a container needs an image', { isFinal: true });
  return image;
}

/** Pids are used again, so it must still be a process of the allocation. */
async function endGroup(pid: number, allocation: string): Promise<void> {
  if (!(await isMarked(pid, allocation, allocationMarker))) return;
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

function reportFullDisk(error: NodeJS.ErrnoException): never {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT')
    throw new UnitProblem('DiskFull', `no records can be written: ${error.message}`, { cause: error });
  throw error;
}
