import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const longestRemoval = 15_000;

/** Where control groups of version 2 are mounted; undefined if they are not. */
export function groupsMount(): string | undefined {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts.map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2')?.[1];
}

/** A control group that has all processes of a host, to freeze or end them together. */
export class HostGroup implements AsyncDisposable {
  readonly path: string;

  constructor(name: string) {
    const mount = groupsMount();
    if (mount === undefined) throw new Error('hosts need control groups of version 2');
    this.path = join(mount, name);
    mkdirSync(this.path);
  }

  /** Resolves when every process stands still. */
  async freeze(): Promise<void> {
    writeFileSync(join(this.path, 'cgroup.freeze'), '1');
    for (const end = Date.now() + longestRemoval; !/^frozen 1$/m.test(this.#read('cgroup.events')); await sleep(5))
      if (Date.now() > end) throw new Error(`the processes of ${this.path} do not stand still`);
  }

  thaw(): void {
    writeFileSync(join(this.path, 'cgroup.freeze'), '0');
  }

  /** Ends all processes at once, also those that outlived their namespace. Resolves when none is left. */
  async kill(): Promise<void> {
    this.thaw();
    writeFileSync(join(this.path, 'cgroup.kill'), '1');
    for (const end = Date.now() + longestRemoval; /^populated 1$/m.test(this.#read('cgroup.events')); await sleep(5))
      if (Date.now() > end) throw new Error(`${this.path} still has processes`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    remove(this.path);
  }

  #read(file: string): string {
    return readFileSync(join(this.path, file), 'utf8');
  }
}

/** Groups can be removed from the inside out. */
function remove(group: string): void {
  for (const entry of readdirs(group)) remove(join(group, entry));
  rmdirSync(group);
}

function readdirs(group: string): string[] {
  return readdirSync(group, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
