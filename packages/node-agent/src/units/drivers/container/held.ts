import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RoomState, UnitDriver, UnitRoom } from '../driver.ts';
import type { ExecDriver } from '../exec/driver.ts';
import type { Anchor, Anchors } from './docker/anchors.ts';
import { holderCommand } from './holder.ts';
import { fillPlace, reservePlace } from './places.ts';
import type { OpenedSurroundings, Surroundings } from './surroundings.ts';

/**
 * Namespaces that the driver `exec` keeps: a network with its rules, and processes, which end with the main program. The container enters both, so
 * its program is not the first process and signals have their usual effect. The driver makes them, or enters those of an anchor, for engines whose
 * containers can only enter namespaces of other containers.
 */
export class HeldSurroundings implements Surroundings {
  readonly #rooms: ExecDriver;
  readonly #anchors: Anchors | undefined;

  constructor(rooms: ExecDriver, anchors?: Anchors) {
    this.#rooms = rooms;
    this.#anchors = anchors;
  }

  async prepare(room: UnitRoom, options: Parameters<UnitDriver['prepare']>[1]): Promise<void> {
    await this.#rooms.prepare(holderOf(room));
    await this.#anchors?.prepare(options.signal);
  }

  async open(room: UnitRoom, incarnation: number, folder: string): Promise<OpenedSurroundings> {
    if (this.#anchors !== undefined) return this.#openAnchor(this.#anchors, room, incarnation);
    const places = { net: join(folder, 'network'), pid: join(folder, 'processes') };
    await Promise.all(Object.values(places).map(reservePlace));
    const fill = async (): Promise<{ readonly address?: string }> => {
      const { pid, address } = await this.#hold(room, incarnation);
      await Promise.all((['net', 'pid'] as const).map((space) => fillPlace(places[space], { pid, space })));
      return address === undefined ? {} : { address };
    };
    const network = room.network === 'Host' ? 'host' : { path: places.net };
    return { namespaces: { network, processes: { path: places.pid } }, ready: fill() };
  }

  async #openAnchor(anchors: Anchors, room: UnitRoom, incarnation: number): Promise<OpenedSurroundings> {
    const anchor = await anchors.start(room, incarnation);
    try {
      const { pid, address } = await this.#hold(room, incarnation, anchor);
      const inside = await pidInside(pid);
      if (inside !== undefined) await anchor.follow(inside);
      const space = { container: anchor.name };
      const network = room.network === 'Host' ? 'host' : space;
      return { namespaces: { network, processes: space }, ready: Promise.resolve(address === undefined ? {} : { address }) };
    } finally {
      anchor.close();
    }
  }

  /** Starts the holder of the namespaces: those of the anchor, or new ones. */
  async #hold(room: UnitRoom, incarnation: number, anchor?: Anchor): Promise<Extract<RoomState, { phase: 'running' }>> {
    await this.#rooms.start(holderOf(room), incarnation, anchor && { enter: anchor.pid });
    const state = await this.#rooms.find(room.id, incarnation);
    if (state?.phase !== 'running') throw new Error('the namespaces of the container have ended');
    while (!(await this.#isReady(room.id, incarnation))) await sleep(5);
    return state;
  }

  async #isReady(id: string, incarnation: number): Promise<boolean> {
    const log = await this.#rooms.log(id, incarnation);
    const texts = await Promise.all((log?.files ?? []).map((file) => readFile(file, 'utf8')));
    return log === undefined || log.complete || texts.some((text) => text.includes('ready'));
  }

  /** From now on, everything ends with the process. */
  async follow(id: string, pid: number): Promise<void> {
    const inside = await pidInside(pid);
    if (inside === undefined) return this.#rooms.stop(id, 0);
    const streams = await this.#rooms.attach(id, { stdin: true }).catch(() => undefined);
    if (streams === undefined) return;
    await new Promise<void>((resolve) => streams.stdin!.write(`${inside}\n`, () => resolve()));
    streams.close();
  }

  async isAlive(id: string, incarnation: number): Promise<boolean> {
    return (await this.#rooms.find(id, incarnation))?.phase === 'running';
  }

  async address(id: string, incarnation: number): Promise<string | undefined> {
    const state = await this.#rooms.find(id, incarnation);
    return state?.phase === 'running' ? state.address : undefined;
  }

  /** The holder has a last word, and the launcher more to do after it. */
  async ended(id: string, signal: AbortSignal): Promise<void> {
    const streams = await this.#rooms.attach(id, { stdin: false });
    const close = (): void => streams.close();
    signal.addEventListener('abort', close);
    try {
      if (!signal.aborted) for await (const chunk of streams.stdout) if (String(chunk).includes('ended')) return;
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
  }

  async changed(id: string, incarnation: number, signal: AbortSignal): Promise<void> {
    await this.#rooms.changed(id, incarnation, signal);
  }

  async end(id: string): Promise<void> {
    await this.#rooms.stop(id, 0);
    // Containers that depend on it may be left, and the engine may be away.
    await this.#anchors?.remove(id).catch(() => {});
  }

  async connect(id: string, port: number): Promise<Duplex> {
    return this.#rooms.connect(id, port);
  }

  async remove(id: string): Promise<void> {
    await this.#rooms.remove(id);
    await this.#anchors?.remove(id);
  }

  async list(): Promise<string[]> {
    return this.#rooms.list();
  }
}

/** The number of a process in its own pid namespace; undefined if it has ended. */
async function pidInside(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return /^NSpid:.*\t(\d+)$/m.exec(status)?.[1];
}

function holderOf(room: UnitRoom): UnitRoom {
  return {
    id: room.id,
    allocation: room.allocation,
    hostname: room.hostname,
    command: holderCommand,
    environment: {},
    mounts: [],
    network: room.network,
    tty: false,
    cpu: 0,
    memory: 0,
    devices: [],
  };
}
