import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { buildCapstan, type CommandResult, type Host, HostNetwork, type HostProcess, requireTool, tool } from '@capstan/testbed';
import { repository } from './pages.ts';

const home = '/home/newcomer';
const clone = `${home}/capstan`;

/** A machine of somebody who has just cloned the repository: all ports are free, the home is empty, and nothing outlives the test. */
export class Newcomer implements AsyncDisposable {
  readonly host: Host;
  readonly #network: HostNetwork;
  #terminals = 0;

  private constructor(network: HostNetwork, host: Host) {
    this.#network = network;
    this.host = host;
  }

  /** Why there can be none here; undefined if there can. */
  static async problem(): Promise<string | undefined> {
    const nft = await tool('nft');
    return (await HostNetwork.problem()) ?? ('missing' in nft ? nft.missing : undefined);
  }

  static async arrive(): Promise<Newcomer> {
    await buildCapstan();
    await using stack = new AsyncDisposableStack();
    const network = stack.use(await HostNetwork.create());
    const host = await network.addHost('laptop');
    const newcomer = new Newcomer(network, host);
    newcomer.install('nft', await requireTool('nft'));
    mkdirSync(host.path(clone), { recursive: true });
    // What is there already, such as the data of another server, is not part of a clone.
    for (const name of readdirSync(repository))
      if (name !== 'capstan-data') symlinkSync(join(repository, name), host.path(join(clone, name)));
    stack.move();
    return newcomer;
  }

  /** Makes a program of the cache one of the machine. */
  install(name: string, path: string): void {
    const place = `/usr/local/bin/${name}`;
    if (path !== place) this.host.write(place, `#!/bin/sh\nexec '${path}' "$@"\n`, 0o755);
  }

  /** Opens a terminal in the clone. */
  terminal(): Terminal {
    return new Terminal(this.host, `/run/terminal-${++this.#terminals}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#network[Symbol.asyncDispose]();
  }
}

/** Variables and the working directory go on from one block to the next. */
export class Terminal {
  readonly #host: Host;
  readonly #state: string;

  constructor(host: Host, state: string) {
    this.#host = host;
    this.#state = state;
    host.write(state, `cd ${clone}\n`);
  }

  /** Runs the commands of a block; ends at the first that fails. */
  run(block: string, input = ''): Promise<CommandResult> {
    return this.#host.run(this.#command(block), { environment: environment(), input, timeout: 60_000 });
  }

  /** The same, for a block whose last command goes on. */
  start(block: string): HostProcess {
    return this.#host.start(block.trim(), ['setsid', ...this.#command(block)], { environment: environment() });
  }

  #command(block: string): readonly string[] {
    const script = `. "$0"; trap '{ export -p; printf "cd %q\\n" "$PWD"; } > "$0"' EXIT\n${block}`;
    return ['bash', '-euo', 'pipefail', '-c', script, this.#state];
  }
}

/** Ctrl-C reaches all processes of a terminal. */
export function pressControlC(program: HostProcess): void {
  process.kill(-program.pid, 'SIGINT');
}

/** Without what the project of the test itself put into PATH. */
function environment(): Record<string, string> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return { HOME: home, PATH: folders.join(delimiter) };
}
