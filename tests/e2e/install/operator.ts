import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { buildCapstan, capstanProgram, type Host, HostNetwork, type TemporaryDirectory, temporaryDirectory } from '@capstan/testbed';
import { expect, vi } from 'vitest';
import type { Step } from './guide.ts';

export const patience = { timeout: 60_000, interval: 500 };
/** Commands that may be typed again, until they show what the page shows. */
const isAnswer = /^capstan \w+ (list|show|plan)\b/;
export const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** Leaves open what differs from machine to machine and from day to day. */
function shapeOf(line: string): string {
  return line
    .replaceAll(new RegExp(uuid, 'g'), 'UUID')
    .replaceAll(/GPU-[\w-]+/g, 'GPU')
    .replaceAll(/[0-9a-f]{64}/g, 'SHA-256')
    .replaceAll(/0\.1\.0\+[0-9a-z]+/g, 'VERSION')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')
    .replaceAll(/linux-\w+/g, 'PLATFORM')
    .replaceAll(/https:\/\/[\d.]+:6443/g, 'SERVER')
    .replaceAll(/(--token gpu-2-|--ca-hash )\S+/g, '$1…')
    .replaceAll(/[\d.]+ +[\d.]+ GiB/g, 'CPU MEMORY')
    .replaceAll(/[\d.]+ ([KM]i)?B\b/g, 'SIZE')
    .replaceAll(/\b\d+(ms|s)\b/g, 'AGE')
    .replaceAll(/ +/g, ' ')
    .trim();
}

/** States that `--watch` may be too late to see. */
const isPassing = /^\w+: (Pending|Releasing)$/;

/** Whether the output has the lines that a page shows, in this order; there may be more. */
export function shows(output: string, lines: readonly string[]): boolean {
  const printed = output.split('\n').map(shapeOf);
  let from = 0;
  return lines.map(shapeOf).every((line) => {
    const at = printed.indexOf(line, from);
    if (at >= 0) from = at + 1;
    return at >= 0 || isPassing.test(line);
  });
}

/** Types the commands of pages beside a control plane, and pastes what is meant for a machine on `gpu-1`. All of that is in a network of its own. */
export class Operator implements AsyncDisposable {
  readonly machine: Host;
  readonly #network: HostNetwork;
  readonly #directory: TemporaryDirectory;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: { network: HostNetwork; machine: Host; directory: TemporaryDirectory; owned: AsyncDisposableStack }) {
    this.#network = parts.network;
    this.machine = parts.machine;
    this.#directory = parts.directory;
    this.#owned = parts.owned;
  }

  static async start(kubectl: string): Promise<Operator> {
    await buildCapstan();
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('operator'));
    mkdirSync(directory.join('bin'));
    const capstan = `#!/bin/sh\nexec '${process.execPath}' '${capstanProgram}' "$@"\n`;
    writeFileSync(directory.join('bin/capstan'), capstan, { mode: 0o755 });
    symlinkSync(kubectl, directory.join('bin/kubectl'));
    const network = stack.use(await HostNetwork.create());
    const machine = await network.addHost('gpu-1');
    const address = ['--host', '0.0.0.0', '--advertise', `${network.hub}:6443`];
    const command = typed(directory, `exec capstan up --no-node ${address.join(' ')}`);
    const up = network.start('capstan up', command, { environment: environmentIn(directory) });
    stack.defer(() => up.stop());
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    return new Operator({ network, machine, directory, owned: stack.move() });
  }

  write(name: string, content: string): void {
    writeFileSync(this.#directory.join(name), content);
  }

  /** Types commands that must succeed, and returns everything that they print. */
  async type(commands: string): Promise<string> {
    const command = typed(this.#directory, `exec 2>&1; ${commands}`);
    const { code, stdout } = await this.#network.run(command, { environment: environmentIn(this.#directory) });
    expect(code, `${commands}\n${stdout}`).toBe(0);
    return stdout;
  }

  /** Types the commands of a page, and looks until they show what the page shows. */
  async follow({ commands, output }: Step): Promise<string> {
    const printed = await this.type(commands);
    if (shows(printed, output)) return printed;
    const last = commands.trimEnd().split('\n').at(-1)!;
    expect(isAnswer.test(last), `${commands}\nprinted:\n${printed}\nand not:\n${output.join('\n')}`).toBe(true);
    return await vi.waitFor(async () => {
      const again = await this.type(last);
      expect(shows(again, output), `${last}\nprinted:\n${again}\nand not:\n${output.join('\n')}`).toBe(true);
      return again;
    }, patience);
  }

  /** Pastes a printed command into a shell of the machine. */
  async paste(command: string): Promise<string> {
    const { code, stdout, stderr } = await this.machine.run(['sh', '-c', command], { environment: { HOME: '/root' } });
    expect(code, stderr).toBe(0);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

const typed = (directory: TemporaryDirectory, commands: string): string[] => [
  'bash',
  '-euo',
  'pipefail',
  '-c',
  `cd ${directory.path}; ${commands}`,
];

const environmentIn = (directory: TemporaryDirectory): Record<string, string> => ({
  HOME: directory.path,
  KUBECONFIG: './capstan-data/admin.kubeconfig',
  PATH: `${directory.join('bin')}:${process.env['PATH']}`,
});
