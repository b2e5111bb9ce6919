import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { nodeEnrollmentKind } from '@capstan/api';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import {
  buildCapstan,
  Child,
  capstanCommand,
  capstanProgram,
  freePort,
  output,
  run,
  type TemporaryDirectory,
  temporaryDirectory,
} from '@capstan/testbed';

interface ProcessState {
  readonly name: string;
  readonly pid?: number;
  readonly ports?: readonly { readonly name: string; readonly port: number }[];
}

/** A `capstan up` without a node, for measuring. */
export class ControlPlane implements AsyncDisposable {
  readonly directory: TemporaryDirectory;
  /** For root:platform. */
  readonly platform: Client;
  /** Of the API server, and of the platform's controllers. */
  readonly server: number;
  readonly controllers: number;
  /** Of all processes. */
  readonly all: readonly number[];
  readonly #up: Child;

  private constructor(parts: {
    directory: TemporaryDirectory;
    platform: Client;
    server: number;
    controllers: number;
    all: readonly number[];
    up: Child;
  }) {
    this.directory = parts.directory;
    this.platform = parts.platform;
    this.server = parts.server;
    this.controllers = parts.controllers;
    this.all = parts.all;
    this.#up = parts.up;
  }

  get kubeconfig(): string {
    return this.directory.join('data/admin.kubeconfig');
  }

  static async start(): Promise<ControlPlane> {
    await buildCapstan();
    const directory = temporaryDirectory('load-agents');
    const data = directory.join('data');
    const args = ['up', '--no-node', '--data-dir', data, '--port', String(await freePort())];
    const up = new Child('capstan up', [capstanCommand, ...args]);
    try {
      await up.waitUntil('its controllers run', () => up.output.includes('platform controllers run'));
      const platform = new Client(connectionOf(loadKubeconfig({ path: `${data}/admin.kubeconfig` }))).cluster('root:platform');
      await up.waitUntil('the kinds of the fleet are served', () =>
        platform
          .resource(nodeEnrollmentKind)
          .list()
          .then(
            () => true,
            () => false,
          ),
      );
      // It fails while something still starts, and shows the others all the same.
      const processes = await statusOf(data);
      const pidOf = (name: string): number => processes.find((one) => one.name === name)?.pid ?? Number.NaN;
      const all = [up.pid, ...processes.flatMap(({ pid }) => pid ?? [])];
      return new ControlPlane({ directory, platform, up, all, server: pidOf('apiserver'), controllers: pidOf('platform-controllers') });
    } catch (error) {
      await up.stop();
      directory[Symbol.dispose]();
      throw error;
    }
  }

  /** The end of what its processes have printed. */
  get output(): string {
    return this.#up.output;
  }

  /** Where the REST API and the console listen, once they do. */
  async ports(): Promise<{ readonly rest: number; readonly console: number }> {
    let found: (number | undefined)[] = [];
    await this.#up.waitUntil('the REST API and the console listen', async () => {
      const processes = await statusOf(this.directory.join('data'));
      const portOf = (name: string): number | undefined =>
        processes.find((one) => one.name === name)?.ports?.find((one) => one.name === 'http')?.port;
      found = [portOf('runtime-api'), portOf('console')];
      return found.every((port) => port !== undefined);
    });
    return { rest: found[0]!, console: found[1]! };
  }

  /** The arguments of the command that `capstan node enroll --installed` prints. */
  async enroll(node: string): Promise<readonly string[]> {
    const printed = await output(process.execPath, [
      capstanProgram,
      'node',
      'enroll',
      node,
      '--installed',
      '--kubeconfig',
      this.kubeconfig,
    ]);
    return printed.trim().split(' ').slice(1);
  }

  /** A file that declares eight GPUs. */
  declaredGpus(): string {
    const file = this.directory.join(`gpus-${randomBytes(3).toString('hex')}.yaml`);
    writeFileSync(file, 'gpus:\n  - { model: H200, count: 8, memory: 141Gi, linked: true }\n');
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.platform[Symbol.dispose]();
    await this.#up.stop(20_000);
    this.directory[Symbol.dispose]();
  }
}

async function statusOf(data: string): Promise<ProcessState[]> {
  const { stdout } = await run(process.execPath, [capstanProgram, 'status', '--data-dir', data, '-o', 'json']);
  return (JSON.parse(stdout) as { processes: ProcessState[] }).processes;
}
