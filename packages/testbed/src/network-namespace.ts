import { output, run } from './command.ts';

let made = 0;

/**
 * An isolated network on this machine, for tests of reachability. Its interface has the given addresses, all of one /24 subnet, and the
 * default route.
 */
export class NetworkNamespace implements AsyncDisposable {
  readonly #name: string;

  private constructor(name: string) {
    this.#name = name;
  }

  /** Why none can be created here; undefined if one can. */
  static async problem(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'network namespaces need root';
    for (const program of ['ip', 'nsenter']) {
      if ((await run(program, ['--version'])).code === -1) return `network namespaces need the program ${program}`;
    }
    try {
      await using _probe = await NetworkNamespace.create(['192.0.2.1']);
      return undefined;
    } catch (error) {
      return `network namespaces cannot be created here: ${(error as Error).message}`;
    }
  }

  static async create(addresses: readonly string[]): Promise<NetworkNamespace> {
    const name = `capstan-${process.pid}-${made++}`;
    await output('ip', ['netns', 'add', name]);
    const ip = (...args: string[]) => output('ip', ['-n', name, ...args]);
    try {
      await ip('link', 'set', 'lo', 'up');
      await ip('link', 'add', 'outer', 'type', 'veth', 'peer', 'name', 'inner');
      for (const link of ['outer', 'inner']) await ip('link', 'set', link, 'up');
      for (const address of addresses) await ip('address', 'add', `${address}/24`, 'dev', 'outer');
      await ip('route', 'add', 'default', 'dev', 'outer');
    } catch (error) {
      await run('ip', ['netns', 'delete', name]);
      throw error;
    }
    return new NetworkNamespace(name);
  }

  /** Wraps a command so that it runs inside. */
  command(...command: readonly string[]): readonly [string, ...string[]] {
    return ['nsenter', `--net=/run/netns/${this.#name}`, '--', ...command];
  }

  /** Gives the interface one more address. */
  async addAddress(address: string): Promise<void> {
    await output('ip', ['-n', this.#name, 'address', 'add', `${address}/24`, 'dev', 'outer']);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run('ip', ['netns', 'delete', this.#name]);
  }
}
