import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildCapstan } from './build.ts';
import { TestAuthority } from './certificates.ts';
import { Child } from './child.ts';
import { type EtcdCluster, startEtcd } from './etcd.ts';
import { answersReady, type RunningApiServer } from './kube-apiserver.ts';
import { readConnection } from './kubeconfig.ts';
import { freePort, temporaryDirectory } from './temporary.ts';

export type StoreDriver = 'sqlite' | 'etcd';

export interface CapstanOptions {
  readonly store: StoreDriver;
  /** For `etcd`: the cluster to use, which outlives the server. By default it starts its own. */
  readonly etcd?: EtcdCluster;
  /** Another server of the same etcd, whose keys this one shares. */
  readonly beside?: RunningCapstan;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** How many files the process may have open; by default as many as this one. */
  readonly openFiles?: number;
}

/** The script that Node runs. It is enough for commands that end soon, and for hosts that see no other folders of this one. */
export const capstanProgram = resolve(import.meta.dirname, '../../../apps/cli/bin/start.mjs');
/** The program that users run. It chooses Node and its options. */
export const capstanCommand = resolve(capstanProgram, '../capstan');

/** The real `capstan apiserver` process. It can be killed and started again on the same data and port. */
export class RunningCapstan implements RunningApiServer {
  readonly kubeconfig: string;
  readonly dataDirectory: string;
  readonly url: string;
  readonly #command: readonly string[];
  readonly #options: CapstanOptions;
  readonly #etcd: EtcdCluster | undefined;
  readonly #owned: AsyncDisposableStack;
  #authority: TestAuthority | undefined;
  #child: Child;

  private constructor(parts: {
    dataDirectory: string;
    url: string;
    command: readonly string[];
    options: CapstanOptions;
    etcd: EtcdCluster | undefined;
    owned: AsyncDisposableStack;
  }) {
    this.dataDirectory = parts.dataDirectory;
    this.kubeconfig = resolve(parts.dataDirectory, 'admin.kubeconfig');
    this.url = parts.url;
    this.#command = parts.command;
    this.#options = parts.options;
    this.#etcd = parts.etcd;
    this.#owned = parts.owned;
    this.#child = this.#spawn();
  }

  static async start(options: CapstanOptions): Promise<RunningCapstan> {
    await buildCapstan();
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('apiserver'));
    const port = await freePort();
    const dataDirectory = directory.join('data');
    if (options.beside !== undefined)
      cpSync(resolve(options.beside.dataDirectory, 'pki'), resolve(dataDirectory, 'pki'), { recursive: true });
    const command = [capstanCommand, 'apiserver', '--data-dir', dataDirectory, '--port', String(port)];
    const etcd = options.store === 'etcd' ? (options.etcd ?? stack.use(await startEtcd())) : undefined;
    if (etcd !== undefined) command.push('--etcd-endpoints', etcd.endpoints.join(','));
    command.push(...(options.args ?? []));
    if (options.openFiles !== undefined) command.unshift('bash', '-c', `ulimit -n ${options.openFiles}; exec "$@"`, 'bash');
    const running = new RunningCapstan({
      dataDirectory,
      url: `https://127.0.0.1:${port}`,
      command,
      options,
      etcd,
      owned: stack.move(),
    });
    try {
      await running.ready();
    } catch (error) {
      await running[Symbol.asyncDispose]();
      throw error;
    }
    return running;
  }

  get pids(): readonly number[] {
    return [this.#child.pid, ...(this.#etcd?.pids ?? [])];
  }

  kubeconfigFor(subject: string): Promise<string> {
    if (this.#authority === undefined) {
      const read = (name: string): string => readFileSync(resolve(this.dataDirectory, 'pki', name), 'utf8');
      const directory = resolve(this.dataDirectory, '..', 'identities');
      mkdirSync(directory);
      this.#authority = TestAuthority.of({ certificate: read('ca.crt'), key: read('ca.key') }, directory);
    }
    return this.#authority.kubeconfig(subject, this.url);
  }

  get child(): Child {
    return this.#child;
  }

  /** kill -9, like a power cut. */
  kill(): Promise<void> {
    return this.#child.kill();
  }

  async stop(): Promise<void> {
    await this.#child.stop();
    if (this.#options.etcd === undefined) await this.#etcd?.stop();
  }

  async start(): Promise<void> {
    if (this.#options.etcd === undefined) await this.#etcd?.restart(0);
    this.#child = this.#spawn();
    await this.ready();
  }

  /** Only the server, not its store. Starts again on the same data and port; resolves when ready. */
  async restart(): Promise<void> {
    await this.#child.stop();
    this.#child = this.#spawn();
    await this.ready();
  }

  async ready(): Promise<void> {
    await this.#child.waitUntil('ready', () => existsSync(this.kubeconfig) && answersReady(readConnection(this.kubeconfig)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.stop();
    await this.#owned.disposeAsync();
  }

  #spawn(): Child {
    const { environment } = this.#options;
    return new Child('capstan apiserver', this.#command, environment === undefined ? {} : { environment });
  }
}

export function startCapstan(options: CapstanOptions): Promise<RunningCapstan> {
  return RunningCapstan.start(options);
}
