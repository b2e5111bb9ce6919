import { existsSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { Child } from '../child.ts';
import type { TemporaryDirectory } from '../temporary.ts';
import { requireTool } from '../tools/tool.ts';

/** A daemon of Docker with storage of its own, without a network, so that tests leave nothing on the machine. `deleteStorage` removes its mounts. */
export class DockerDaemon implements AsyncDisposable {
  readonly socketPath: string;
  readonly #command: readonly string[];
  #child: Child;

  private constructor(socketPath: string, command: readonly string[]) {
    this.socketPath = socketPath;
    this.#command = command;
    this.#child = new Child('dockerd', command);
  }

  static async start(directory: TemporaryDirectory): Promise<DockerDaemon> {
    const settings = directory.join('daemon.json');
    const socketPath = directory.join('docker.sock');
    writeFileSync(
      settings,
      JSON.stringify({ 'live-restore': true, 'storage-driver': 'overlay2', iptables: false, ip6tables: false, bridge: 'none' }),
    );
    const places = ['data-root', 'exec-root', 'pidfile'].map((name) => `--${name}=${directory.join(name)}`);
    const program = await requireTool('dockerd');
    const daemon = new DockerDaemon(socketPath, [program, `--config-file=${settings}`, `--host=unix://${socketPath}`, ...places]);
    await daemon.#ready();
    return daemon;
  }

  /** Stops the daemon, and starts it again. Containers go on. */
  async restart(): Promise<void> {
    await this.#child.stop(20_000);
    this.#child = new Child('dockerd', this.#command);
    await this.#ready();
  }

  async #ready(): Promise<void> {
    await this.#child.waitUntil('it answers', async () => existsSync(this.socketPath) && (await this.call('GET', '/_ping')) === 'OK');
  }

  /** Sends a request, and returns the body of the answer; '' if the daemon does not answer. */
  async call(method: string, path: string, body?: Buffer): Promise<string> {
    return new Promise((resolve) => {
      const sent = request(
        { socketPath: this.socketPath, method, path, headers: body && { 'content-type': 'application/x-tar' } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('end', () => resolve(text));
        },
      );
      sent.on('error', () => resolve(''));
      sent.end(body);
    });
  }

  /** The names of all containers, one in a line. */
  async containers(): Promise<string> {
    const found = JSON.parse(await this.call('GET', '/containers/json?all=1')) as { Names: string[] }[];
    return found.map(({ Names }) => Names.join(' ').slice(1)).join('\n');
  }

  /** No container outlives the daemon. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of (await this.containers()).split('\n').filter(Boolean)) await this.call('DELETE', `/containers/${name}?force=1&v=1`);
    await this.#child.stop(20_000);
  }
}
