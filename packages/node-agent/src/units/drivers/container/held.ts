import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UnitDriver, UnitRoom } from '../driver.ts';
import type { ExecDriver } from '../exec/driver.ts';
import type { BoxNamespaces } from './dialect.ts';
import type { Anchors } from './docker/anchors.ts';
import { holderCommand } from './holder.ts';
import type { Surroundings } from './surroundings.ts';

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

  async open(room: UnitRoom, incarnation: number): Promise<BoxNamespaces & { readonly address?: string }> {
    const anchor = await this.#anchors?.start(room, incarnation);
    try {
      await this.#rooms.start(holderOf(room), incarnation, anchor && { enter: anchor.pid });
      const state = await this.#rooms.find(room.id, incarnation);
      if (state?.phase !== 'running') throw new Error('the namespaces of the container have ended');
      while (!(await this.#isReady(room.id, incarnation))) await sleep(5);
      const inside = await pidInside(state.pid);
      if (anchor !== undefined && inside !== undefined) await anchor.follow(inside);
      const address = state.address === undefined ? {} : { address: state.address };
      if (anchor !== undefined) {
        const space = { container: anchor.name };
        return { network: room.network === 'Host' ? 'host' : space, processes: space, ...address };
      }
      const folder = `/proc/${state.pid}/ns`;
      return { network: room.network === 'Host' ? 'host' : { path: `${folder}/net` }, processes: { path: `${folder}/pid` }, ...address };
    } finally {
      anchor?.close();
    }
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
