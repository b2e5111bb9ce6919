import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UnitDriver, UnitRoom } from '../driver.ts';
import type { BoxNamespaces } from './dialect.ts';
import type { Surroundings } from './surroundings.ts';

/** Numbers of prctl and pidfd_open. */
const calls = process.arch === 'arm64' ? { prctl: 167, pidfdOpen: 434 } : { prctl: 157, pidfdOpen: 434 };

/** Cannot be inspected by programs in the container, and ends with the process that it is told on standard input. */
const holder = `
  syscall(${calls.prctl}, 4, 0, 0, 0, 0);
  syswrite STDOUT, "ready\\n";
  my $line = '';
  until ($line =~ /\\n/) { sysread STDIN, $line, 16, length $line or exit }
  my $descriptor = syscall(${calls.pidfdOpen}, $line + 0, 0);
  exit if $descriptor < 0;
  vec(my $read = '', $descriptor, 1) = 1;
  1 until select(my $ready = $read, undef, undef, undef) > 0;
`;

/**
 * Namespaces that the driver `exec` makes and keeps: a network with its rules, and processes, which end with the main program. The container
 * enters both, so its program is not the first process and signals have their usual effect.
 */
export class HeldSurroundings implements Surroundings {
  readonly #rooms: UnitDriver;

  constructor(rooms: UnitDriver) {
    this.#rooms = rooms;
  }

  async prepare(room: UnitRoom, options: Parameters<UnitDriver['prepare']>[1]): Promise<void> {
    await this.#rooms.prepare(holderOf(room), options);
  }

  async open(room: UnitRoom, incarnation: number): Promise<BoxNamespaces & { readonly address?: string }> {
    await this.#rooms.start(holderOf(room), incarnation);
    const state = await this.#rooms.find(room.id, incarnation);
    if (state?.phase !== 'running') throw new Error('the namespaces of the container have ended');
    while (!(await this.#isReady(room.id, incarnation))) await sleep(5);
    const folder = `/proc/${state.pid}/ns`;
    return {
      network: room.network === 'Host' ? 'host' : { path: `${folder}/net` },
      processes: `${folder}/pid`,
      ...(state.address !== undefined && { address: state.address }),
    };
  }

  async #isReady(id: string, incarnation: number): Promise<boolean> {
    const log = await this.#rooms.log(id, incarnation);
    const texts = await Promise.all((log?.files ?? []).map((file) => readFile(file, 'utf8')));
    return log === undefined || log.complete || texts.some((text) => text.includes('ready'));
  }

  /** From now on, everything ends with the process. */
  async follow(id: string, pid: number): Promise<void> {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const inside = /^NSpid:.*\t(\d+)$/m.exec(status)?.[1];
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
  }

  async connect(id: string, port: number): Promise<Duplex> {
    return this.#rooms.connect(id, port);
  }

  async remove(id: string): Promise<void> {
    await this.#rooms.remove(id);
  }

  async list(): Promise<string[]> {
    return this.#rooms.list();
  }
}

function holderOf(room: UnitRoom): UnitRoom {
  return {
    id: room.id,
    allocation: room.allocation,
    hostname: room.hostname,
    command: ['/usr/bin/perl', '-e', holder],
    environment: {},
    mounts: [],
    network: room.network,
    tty: false,
    cpu: 0,
    memory: 0,
    devices: [],
  };
}
