import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ChildOptions } from '../child.ts';
import { type CommandOptions, type CommandResult, run } from '../command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../temporary.ts';
import { requireTool } from '../tools/tool.ts';
import { HostGroup } from './group.ts';
import { plugIn } from './hub.ts';
import { Machine } from './machine.ts';
import { HostProcess } from './process.ts';
import { createDisk, mountRoot } from './root.ts';

export interface HostOptions {
  /** Whether `setClock` works; needs the tool `faketime`. */
  readonly clock?: boolean;
  /** The environment of all programs. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface HostPlace {
  readonly name: string;
  readonly address: string;
  readonly hub: Machine;
}

/** Programs with a clock of their own read it here, each time. */
const clockFile = '/etc/capstan-clock';
const filling = 'filling';

/**
 * A pretended host: processes, mounts, network, host name, control groups and files of its own. Its disk survives `reboot`. Everything vanishes with it, and
 * with the test, however the test ends; only the folder of its disk would stay after a crash of the test.
 */
export class Host implements AsyncDisposable {
  readonly name: string;
  readonly address: string;
  readonly #hub: Machine;
  readonly #group: HostGroup;
  readonly #disk: TemporaryDirectory;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #wrapper: readonly string[];
  #machine: Machine | undefined;

  private constructor({ name, address, hub }: HostPlace, { environment = {}, wrapper }: HostOptions & { wrapper: readonly string[] }) {
    this.name = name;
    this.address = address;
    this.#hub = hub;
    this.#environment = environment;
    this.#wrapper = wrapper;
    this.#disk = temporaryDirectory(`host-${name}`);
    this.#group = new HostGroup(`capstan-${process.pid}-${name}`);
    createDisk(this.#disk.path);
  }

  static async start(place: HostPlace, options: HostOptions = {}): Promise<Host> {
    const wrapper = options.clock === true ? [await requireTool('faketime'), clockFile] : [];
    const host = new Host(place, { ...options, wrapper });
    try {
      await host.#boot();
      host.write(clockFile, '+0s\n');
    } catch (error) {
      await host[Symbol.asyncDispose]();
      throw error;
    }
    return host;
  }

  /** A path of the host, as this machine sees it. Changes with a reboot. */
  path(path: string): string {
    return `/proc/${this.#running.pid}/root${path}`;
  }

  read(path: string): string {
    return readFileSync(this.path(path), 'utf8');
  }

  write(path: string, text: string, mode = 0o644): void {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), text, { mode });
  }

  /** Runs a program to its end. */
  run(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const [program, ...args] = this.#running.command(...this.#wrapper, ...command);
    return run(program, args, { ...options, environment: { ...this.#environment, ...options.environment } });
  }

  /** The same, for programs that go on. */
  start(name: string, command: readonly string[], options: ChildOptions = {}): HostProcess {
    const environment = { ...this.#environment, ...options.environment };
    return new HostProcess(`${name} on ${this.name}`, this.#running.command(...this.#wrapper, ...command), { ...options, environment });
  }

  /** kill -9 of a process, by the id that it has on the host. */
  async kill(pid: number): Promise<void> {
    await this.#running.run('kill', '-KILL', String(pid));
  }

  /** Unplugs the cable: packets vanish, and no connection ends. */
  async cut(): Promise<void> {
    await this.#hub.run('ip', 'link', 'set', this.name, 'down');
  }

  async restore(): Promise<void> {
    await this.#hub.run('ip', 'link', 'set', this.name, 'up');
  }

  /** Delays what is sent to the host, in milliseconds, and loses a share of it, in percent. */
  async impair({ delay = 0, loss = 0 }: { readonly delay?: number; readonly loss?: number }): Promise<void> {
    const rule = ['delay', `${delay}ms`, 'loss', `${loss}%`];
    await this.#hub.run('tc', 'qdisc', 'replace', 'dev', this.name, 'root', 'netem', ...rule);
  }

  /** Every process stands still until `resume`, as on a virtual machine that is suspended. */
  async pause(): Promise<void> {
    await this.#group.freeze();
  }

  resume(): void {
    this.#group.thaw();
  }

  /** Ends all processes at once, and starts again with what is on the disk, another boot id, and no programs. */
  async reboot(): Promise<void> {
    await this.#powerOff();
    await this.#boot();
  }

  /** Shifts the clock of all programs, also those that run, by seconds from the real time. Clocks that count from the start of the machine stay. */
  setClock(seconds: number): void {
    if (this.#wrapper.length === 0) throw new Error(`the host ${this.name} was started without a clock of its own`);
    writeFileSync(this.path(clockFile), `${seconds < 0 ? '' : '+'}${seconds}s\n`);
  }

  /** A small disk in a folder of the host, in megabytes. It is empty after a reboot. */
  async mountSmallDisk(folder: string, megabytes: number): Promise<void> {
    mkdirSync(this.path(folder), { recursive: true });
    await this.#running.run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tmpfs', folder);
  }

  /** Fills the disk of a folder until nothing more can be written. */
  fillDisk(folder: string): void {
    const piece = Buffer.alloc(64 << 10);
    for (let size = piece.length; size > 0; ) {
      try {
        appendFileSync(this.path(`${folder}/${filling}`), piece.subarray(0, size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size >>= 1;
      }
    }
  }

  /** Undoes `fillDisk`. */
  async freeDisk(folder: string): Promise<void> {
    await this.#running.run('rm', `${folder}/${filling}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#powerOff();
    await this.#group[Symbol.asyncDispose]();
    this.#disk[Symbol.dispose]();
  }

  get #running(): Machine {
    if (this.#machine === undefined) throw new Error(`the host ${this.name} is off`);
    return this.#machine;
  }

  async #boot(): Promise<void> {
    const machine = await Machine.start(this.name, { isolation: 'all', group: this.#group.path });
    this.#machine = machine;
    await mountRoot(machine, this.#disk.path);
    await plugIn(this.#hub, machine, { link: this.name, address: this.address });
  }

  async #powerOff(): Promise<void> {
    const machine = this.#machine;
    this.#machine = undefined;
    await this.#group.kill();
    await machine?.[Symbol.asyncDispose]();
    // The kernel removes a network some time after its last process; the next start needs the name of the cable.
    const [program, ...args] = this.#hub.command('ip', 'link', 'delete', this.name);
    await run(program, args);
  }
}
