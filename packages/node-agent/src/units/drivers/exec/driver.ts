import { watch } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesMarked } from '../../../processes/proc.ts';
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
  unitMarker,
} from '../driver.ts';
import { connectIn, openPort, openSession, sendRequest } from './control.ts';
import { groupMembers, groupUsage, removeGroups, type UnitGroups } from './groups.ts';
import { type LauncherProgram, launch } from './launch.ts';
import type { IsolatedNetwork } from './network.ts';
import type { Pair } from './pairs.ts';
import { treeUsage } from './process-tree.ts';
import { UnitRecords } from './records.ts';
import { type SpecOptions, specOf } from './spec.ts';

export interface ExecDriverOptions extends SpecOptions {
  /** Holds a folder for each unit. */
  readonly directory: string;
  readonly isolation: 'full' | 'none' | undefined;
  readonly why?: string;
  readonly groups: UnitGroups;
  readonly network: IsolatedNetwork;
  /** How the launcher is started: Perl, and the file with the program. */
  readonly launcher: LauncherProgram;
}

/** `enter`: a process whose namespaces for processes and the network the program enters. It ends with the program. */
interface ExecStartOptions extends StartOptions {
  readonly enter?: number;
}

/** In milliseconds: a launcher that has not answered a request to stop this long after the grace is ended by force. */
const patience = 5_000;

/** Runs commands on the file system of the node. A launcher stays with each unit, so that it needs no agent. */
export class ExecDriver implements UnitDriver {
  readonly name = 'exec';
  readonly isolation: 'full' | 'none' | undefined;
  readonly why?: string;
  readonly #options: ExecDriverOptions;
  readonly #records: UnitRecords;

  constructor(options: ExecDriverOptions) {
    this.#options = options;
    this.#records = new UnitRecords(options.directory);
    this.isolation = options.isolation;
    if (options.why !== undefined) this.why = options.why;
  }

  async prepare(room: UnitRoom): Promise<void> {
    this.#check(room);
    if (room.network === 'Isolated' && this.isolation === 'full' && (await this.#options.network.notice()) === undefined)
      await this.#options.network.ensure(room.id);
  }

  async start(room: UnitRoom, incarnation: number, options: ExecStartOptions = {}): Promise<void> {
    this.#check(room);
    try {
      await this.#start(room, incarnation, options);
    } catch (error) {
      if (!(error instanceof UnitProblem) || error.reason !== 'NetworkUnavailable') throw error;
      // Somebody may have deleted the bridge since the last look.
      this.#options.network.forget();
      // The process has ended with the failed start.
      if (options.enter !== undefined) throw error;
      await this.#start(room, incarnation, options);
    }
  }

  async #start(room: UnitRoom, incarnation: number, { enter, permitted }: ExecStartOptions): Promise<void> {
    const isIsolated = this.isolation === 'full';
    const wantsNetwork = isIsolated && room.network === 'Isolated';
    const notice = wantsNetwork ? await this.#options.network.notice() : undefined;
    const network = wantsNetwork && notice === undefined ? await this.#options.network.ensure(room.id) : [];
    const spec = await specOf(notice === undefined ? room : { ...room, network: 'None' }, { ...this.#options, isIsolated });
    const created = await this.#records.create(room.id, incarnation, notice).catch(reportFullDisk);
    if (!created) return;
    const folder = this.#records.folder(room.id, incarnation);
    const entered: Pair[] = enter === undefined ? [] : [['enter', enter]];
    try {
      await launch(this.#options.launcher, [...spec, ...network, ...entered, ['record', folder]], Promise.resolve(permitted));
    } catch (error) {
      await removeGroups(this.#options.groups, room.id);
      await this.#records.delete(room.id, incarnation);
      throw error;
    }
  }

  #check(room: UnitRoom): void {
    if (this.isolation === undefined) throw new UnitProblem('DriverUnavailable', this.why ?? 'this machine cannot run commands');
    if (room.image !== undefined)
      throw new UnitProblem('DriverUnavailable', 'a unit with an image needs a container runtime', { isFinal: true });
    if (room.command.length === 0) throw new UnitProblem('BadCommand', 'a unit without an image needs a command', { isFinal: true });
  }

  async find(id: string, incarnation: number): Promise<RoomState | undefined> {
    const state = await this.#records.state(id, incarnation);
    if (state?.phase === 'running' && state.address !== undefined) this.#options.network.keep(id);
    return state;
  }

  /** Returns at once if the program has ended already: there is nothing to wait for. */
  async changed(id: string, incarnation: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const state = await this.find(id, incarnation);
    if (state === undefined) return this.#created(id, signal);
    if (state.phase !== 'running') return;
    // The launcher closes the connection when it ends, however that happens.
    const socket = await connectIn(this.#records.folder(id, incarnation), 'control').catch(() => undefined);
    if (socket === undefined) return;
    sendRequest(socket, [['kind', 'watch']]);
    await closed(socket, signal);
  }

  async #created(id: string, signal: AbortSignal): Promise<void> {
    const folder = this.#records.folder(id);
    await mkdir(this.#options.directory, { recursive: true, mode: 0o700 });
    await new Promise<void>((resolve) => {
      // Undefined means that the name is unknown.
      const isOurs = (name: string | null): boolean => name === null || folder.endsWith(`/${name}`);
      const watcher = watch(this.#options.directory, (_event, name) => isOurs(name) && finish());
      const finish = (): void => {
        watcher.close();
        signal.removeEventListener('abort', finish);
        resolve();
      };
      watcher.on('error', finish);
      signal.addEventListener('abort', finish);
      if (signal.aborted) finish();
    });
  }

  async stop(id: string, grace: number): Promise<void> {
    let isSearched = this.isolation !== 'full';
    for (const incarnation of await this.#records.incarnations(id)) {
      await this.#stopOne(id, incarnation, grace);
      isSearched ||= (await this.#records.state(id, incarnation))?.phase === 'lost';
    }
    // A launcher that was killed may have left something behind. All of an isolated unit ends with its launcher.
    for (;;) {
      const left = new Set([
        ...(await groupMembers(this.#options.groups, id)),
        ...(isSearched ? await processesMarked(unitMarker, id) : []),
      ]);
      if (left.size === 0) break;
      for (const pid of left) kill(pid);
      await sleep(10);
    }
    await removeGroups(this.#options.groups, id);
  }

  async #stopOne(id: string, incarnation: number, grace: number): Promise<void> {
    const pid = await this.#records.monitor(id, incarnation);
    if (pid === undefined) return;
    const socket = await connectIn(this.#records.folder(id, incarnation), 'control').catch(() => undefined);
    if (socket !== undefined) {
      sendRequest(socket, [
        ['kind', 'stop'],
        ['grace', grace],
      ]);
      await closed(socket, AbortSignal.timeout(grace + patience));
    }
    // The socket closes a moment before the process ends.
    const until = performance.now() + (socket === undefined ? 0 : 500);
    while ((await this.#records.monitor(id, incarnation)) !== undefined) {
      if (performance.now() > until) kill(pid);
      await sleep(5);
    }
  }

  async log(id: string, incarnation: number): Promise<RoomLog | undefined> {
    // In this order: the launcher writes all output before it ends.
    const state = await this.find(id, incarnation);
    if (state === undefined) return undefined;
    return { files: await this.#records.logs(id, incarnation), complete: state.phase !== 'running' };
  }

  async exec(id: string, command: RoomCommand): Promise<RoomStreams> {
    const request: Pair[] = [
      ['kind', 'exec'],
      ['tty', command.tty ? 1 : 0],
      ['stdin', command.stdin ? 1 : 0],
      ...command.command.map((word): Pair => ['command', word]),
    ];
    return openSession(await connectIn(await this.#live(id), 'control'), request, command);
  }

  async attach(id: string, options: { readonly stdin: boolean }): Promise<RoomStreams> {
    const folder = await this.#live(id);
    const tty = await access(`${folder}/terminal`).then(
      () => true,
      () => false,
    );
    const request: Pair[] = [
      ['kind', 'attach'],
      ['stdin', options.stdin ? 1 : 0],
    ];
    return openSession(await connectIn(folder, 'control'), request, { stdin: options.stdin, tty });
  }

  async connect(id: string, port: number): Promise<Duplex> {
    return openPort(await this.#live(id), port);
  }

  async usage(id: string): Promise<RoomUsage | undefined> {
    const incarnation = (await this.#records.incarnations(id)).at(-1);
    if (incarnation === undefined) return undefined;
    const monitor = await this.#records.monitor(id, incarnation);
    if (monitor !== undefined) return (await groupUsage(this.#options.groups, id)) ?? treeUsage(monitor);
    const exit = await this.#records.read(id, incarnation, 'exit');
    return exit === undefined ? undefined : { cpuSeconds: Number(exit.get('cpuSeconds')), memoryBytes: 0 };
  }

  async remove(id: string): Promise<void> {
    await this.stop(id, 0);
    await this.#records.delete(id);
    if (this.isolation === 'full') this.#options.network.release(id);
  }

  async list(): Promise<string[]> {
    return this.#records.ids();
  }

  /** The folder of the incarnation that runs. */
  async #live(id: string): Promise<string> {
    const incarnation = (await this.#records.incarnations(id)).at(-1);
    if (incarnation === undefined || (await this.find(id, incarnation))?.phase !== 'running')
      throw new Error(`the unit ${id} is not running`);
    return this.#records.folder(id, incarnation);
  }
}

async function closed(socket: Duplex, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      signal.removeEventListener('abort', finish);
      socket.destroy();
      resolve();
    };
    socket.resume().once('end', finish).once('close', finish);
    signal.addEventListener('abort', finish);
    if (signal.aborted || socket.destroyed) finish();
  });
}

function reportFullDisk(error: NodeJS.ErrnoException): never {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT')
    throw new UnitProblem('DiskFull', `no records can be written: ${error.message}`, { cause: error });
  throw error;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
