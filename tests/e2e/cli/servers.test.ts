import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildCapstan, Child, capstanProgram, NetworkNamespace, run, temporaryDirectory, tool } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';

await buildCapstan();

const programs = ['kubectl', 'etcd', 'haproxy'] as const;
const problem = (await NetworkNamespace.problem()) ?? (await skipReason(programs));
const page = readFileSync(resolve(import.meta.dirname, '../../../docs/servers.md'), 'utf8');

/** The blocks under a heading, with the machines that each runs on or the file that it is written to. */
function blocksUnder(heading: string): { marks: string[]; text: string }[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  return [...section.matchAll(/<!-- (?:on )?(.*?) -->\n\n```\w*\n(.*?)```/gs)].map(([, marks, text]) => ({
    marks: marks!.split(' '),
    text: text!,
  }));
}

const addresses = {
  balancer: '192.0.2.10',
  'server-1': '192.0.2.11',
  'server-2': '192.0.2.12',
  'server-3': '192.0.2.13',
  laptop: '192.0.2.20',
};

/** Copies between the machines, which are sibling folders: `server-1:file` is a file in one of them. */
const scp = `#!/bin/bash
arguments=()
for argument; do
  case "$argument" in
    *:*) arguments+=("$MACHINES/\${argument%%:*}/\${argument#*:}") ;;
    *) arguments+=("$argument") ;;
  esac
done
exec cp "\${arguments[@]}"
`;

describeUnless(problem, 'the guide to servers', () => {
  const directory = temporaryDirectory('servers');
  let network: NetworkNamespace;

  /**
   * All machines are this one, each with its own address and home directory. Processes that a block starts in the background end with their
   * machine.
   */
  class Machine {
    readonly name: string;
    readonly #home: string;
    readonly #left: number[] = [];

    constructor(place: string, name: string) {
      this.name = name;
      this.#home = directory.join(place, name);
      mkdirSync(this.#home, { recursive: true });
    }

    write(file: string, text: string): void {
      // Here the machines share every interface, so each listens only on its own address.
      writeFileSync(`${this.#home}/${file}`, text.replaceAll('0.0.0.0', addresses[this.name as keyof typeof addresses]));
    }

    async sh(text: string): Promise<string> {
      this.write('block.sh', `set -euo pipefail\ncd "$HOME"\n${text}\njobs -p > jobs\n`);
      const environment = {
        HOME: this.#home,
        PATH: `${directory.join('bin')}:${process.env['PATH']}`,
        MACHINES: resolve(this.#home, '..'),
      };
      const [program, ...args] = network.command('bash', '-c', `exec bash block.sh > block.log 2>&1`);
      const { code, stderr } = await run(program, args, { directory: this.#home, environment, timeout: 60_000 });
      const said = readFileSync(`${this.#home}/block.log`, 'utf8');
      if (code !== 0) throw new Error(`on ${this.name}:\n${text}\nexited with ${code}: ${stderr}${said}`);
      this.#left.push(...readFileSync(`${this.#home}/jobs`, 'utf8').split('\n').filter(Boolean).map(Number));
      return said;
    }

    /** Ends the background processes of the blocks, and waits for them. */
    async end(): Promise<void> {
      const left = this.#left.splice(0);
      for (const pid of left) if (isAlive(pid)) process.kill(pid, 'SIGTERM');
      await expect.poll(() => left.filter(isAlive), { timeout: 30_000 }).toEqual([]);
    }
  }

  beforeAll(async () => {
    network = await NetworkNamespace.create(Object.values(addresses));
    mkdirSync(directory.join('bin'));
    symlinkSync(capstanProgram, directory.join('bin', 'capstan'));
    for (const name of ['kubectl', 'haproxy'] as const) {
      const found = await tool(name);
      if ('path' in found) symlinkSync(found.path, directory.join('bin', name));
    }
    writeFileSync(directory.join('bin', 'scp'), scp);
    chmodSync(directory.join('bin', 'scp'), 0o755);
  });
  afterAll(async () => {
    await network[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  async function follow(heading: string, place: string): Promise<{ machines: Map<string, Machine>; said: string } & AsyncDisposable> {
    const machines = new Map(Object.keys(addresses).map((name) => [name, new Machine(place, name)]));
    const end = async (): Promise<void> => {
      await Promise.all([...machines.values()].map((machine) => machine.end()));
    };
    let said = '';
    try {
      for (const { marks, text } of blocksUnder(heading)) {
        for (const mark of marks) {
          const machine = machines.get(mark);
          if (machine === undefined) for (const one of machines.values()) one.write(mark, text);
          else said += await machine.sh(text);
        }
      }
    } catch (error) {
      await end();
      throw error;
    }
    return { machines, said, [Symbol.asyncDispose]: end };
  }

  test('one server: Jane works from her laptop', { timeout: 180_000 }, async () => {
    await using guide = await follow('One server', 'one');
    expect(guide.said).toContain('jane.kubeconfig begins in root:main:jane, with the role cluster-admin.');
    expect(guide.said).toMatch(/^jane$/m);
    expect(guide.said).toMatch(/^hello +1 /m);
  });

  test('three servers: any of them can fail', { timeout: 240_000 }, async () => {
    const etcd = await tool('etcd');
    if (!('path' in etcd)) throw new Error(etcd.missing);
    const url = 'http://192.0.2.10:2379';
    const flags = ['--data-dir', directory.join('etcd'), '--listen-client-urls', url, '--advertise-client-urls', url];
    await using _etcd = new Child('etcd', network.command(etcd.path, ...flags, '--listen-peer-urls', 'http://127.0.0.1:2380'));
    await using guide = await follow('Three servers', 'three');
    const laptop = guide.machines.get('laptop')!;
    const kubectl = (...args: string[]) =>
      laptop.sh(`kubectl --kubeconfig $MACHINES/server-1/capstan-data/admin.kubeconfig ${args.join(' ')}`);
    expect(guide.said.match(/^apiserver-/gm)).toHaveLength(3);
    expect(await kubectl('config', 'view', '--minify')).toContain('server: https://192.0.2.10:6443\n');
    await kubectl('create', 'namespace', 'kept');
    expect(await kubectl('get', 'endpointslice', 'kubernetes', '-o', "jsonpath='{.endpoints[*].addresses[*]}'")).toContain('192.0.2.10');
    await guide.machines.get('server-1')!.end();
    await expect
      .poll(() => kubectl('get', 'namespace', 'kept').catch((error: Error) => error.message), { timeout: 30_000 })
      .toContain('Active');
    // The controllers of another server have taken over.
    await kubectl('create', 'namespace', 'later');
    await expect
      .poll(() => kubectl('--namespace', 'later', 'get', 'serviceaccounts').catch((error: Error) => error.message), { timeout: 60_000 })
      .toContain('default');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
