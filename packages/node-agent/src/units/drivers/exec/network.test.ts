import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { tool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IsolatedNetwork } from './network.ts';
import { echoServer, programFolder } from './testing.ts';

/*
 * A node and the world around it, as two network namespaces. The world has a server, and an address like those of metadata services; the
 * node has servers on its address and on its loopback.
 */
const names = { node: `capunit-n${process.pid}`, world: `capunit-w${process.pid}` };
const directory = mkdtempSync(join(tmpdir(), 'capstan-network-'));
const nft = await tool('nft');
const iptables = await tool('iptables');
const problem =
  process.getuid?.() !== 0
    ? 'networks of units need root'
    : 'missing' in nft
      ? nft.missing
      : 'missing' in iptables
        ? iptables.missing
        : undefined;
const servers: ChildProcess[] = [];
afterAll(() => rmSync(directory, { recursive: true }));

interface Report {
  readonly isolation: string;
  readonly reached: readonly string[];
  readonly lonely: readonly string[];
  readonly names: { readonly seen: readonly string[]; readonly resolver: readonly string[] };
  readonly addresses: readonly string[];
  readonly links: boolean;
  readonly linksLeft: number;
}

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
const inside = (name: string, command: readonly string[]): readonly [string, ...string[]] => [
  'nsenter',
  `--net=/run/netns/${name}`,
  '--',
  ...command,
];

async function serve(name: string, port: number, address: string): Promise<void> {
  const [program, ...args] = inside(name, echoServer(port, address));
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  servers.push(child);
  await once(child.stdout!, 'data');
}

async function report(folder: string, programs: readonly string[]): Promise<Report> {
  const targets = ['203.0.113.10:7000', '169.254.169.254:7000', '198.51.100.2:7001', '127.0.0.1:7002', '198.51.100.2:7002'];
  return (await resultOf('network-harness.ts', [join(directory, folder), programs.join(':'), ...targets])) as Report;
}

async function resultOf(harness: string, more: readonly string[]): Promise<unknown> {
  const [program, ...args] = inside(names.node, [process.execPath, join(import.meta.dirname, harness), ...more]);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of child.stdout) text += String(chunk);
  return JSON.parse(text);
}

describeUnless(problem, 'the network of isolated units', () => {
  beforeAll(async () => {
    for (const name of Object.values(names)) {
      ip('netns', 'add', name);
      ip('-n', name, 'link', 'set', 'lo', 'up');
    }
    ip('-n', names.node, 'link', 'add', 'out', 'type', 'veth', 'peer', 'name', 'in', 'netns', names.world);
    ip('-n', names.node, 'address', 'add', '198.51.100.2/24', 'dev', 'out');
    ip('-n', names.world, 'address', 'add', '198.51.100.1/24', 'dev', 'in');
    for (const address of ['203.0.113.10', '169.254.169.254']) ip('-n', names.world, 'address', 'add', `${address}/32`, 'dev', 'lo');
    ip('-n', names.node, 'link', 'set', 'out', 'up');
    ip('-n', names.world, 'link', 'set', 'in', 'up');
    ip('-n', names.node, 'route', 'add', 'default', 'via', '198.51.100.1');
    await serve(names.world, 7000, 'INADDR_ANY');
    await serve(names.node, 7001, 'INADDR_ANY');
    await serve(names.node, 7002, 'INADDR_LOOPBACK');
  });

  afterAll(() => {
    for (const server of servers) server.kill();
    for (const name of Object.values(names)) execFileSync('ip', ['netns', 'delete', name]);
  });

  const expected = (address: string, bridge: RegExp): unknown[] => [
    '203.0.113.10:7000 open',
    '169.254.169.254:7000 closed',
    '198.51.100.2:7001 closed',
    '127.0.0.1:7002 closed',
    '198.51.100.2:7002 closed',
    `${address}:7003 closed`,
    expect.stringMatching(bridge),
  ];

  const nftOnly = (): Record<string, string> => ({ nft: (nft as { path: string }).path });
  const iptablesOnly = (): Record<string, string> => {
    const { path } = iptables as { path: string };
    const folder = path.endsWith('-debian') ? join(`${path}.tree`, 'links') : dirname(path);
    return { iptables: join(folder, 'iptables'), 'iptables-restore': join(folder, 'iptables-restore') };
  };
  const onNode = (command: readonly string[]): string => {
    const [program, ...args] = inside(names.node, command);
    return execFileSync(program, args, { encoding: 'utf8' });
  };

  test.each([
    ['nft', nftOnly, 'ACCEPT'],
    ['iptables', iptablesOnly, 'ACCEPT'],
    ['nft beside a firewall that forwards nothing', () => ({ ...nftOnly(), ...iptablesOnly() }), 'DROP'],
  ] as const)(
    'with %s: units reach the world, and neither the node nor each other; nothing is left of them',
    async (name, filters, policy) => {
      onNode([iptablesOnly()['iptables']!, '-w', '-P', 'FORWARD', policy]);
      const folder = name.split(' ').join('-');
      const programs = programFolder(join(directory, `${folder}-programs`), {
        ip: execFileSync('which', ['ip'], { encoding: 'utf8' }).trim(),
        ...filters(),
      });
      const before = ip('-n', names.node, '-o', 'link').split('\n').filter(Boolean).length;
      const seen = await report(folder, [programs]);
      expect(seen.isolation).toBe('full');
      expect(seen.reached).toEqual(expected(seen.addresses[0]!, /^[\d.]+:7001 closed$/));
      expect(seen.lonely).toEqual(['203.0.113.10:7000 closed']);
      expect(seen.names.seen).toEqual(expect.arrayContaining([expect.stringMatching(/^[\d.]+ named$/), ...seen.names.resolver]));
      expect(seen.links).toBe(true);
      expect(new Set(seen.addresses).size).toBe(4);
      expect(seen.linksLeft).toBe(before);
      const rules = onNode([nftOnly()['nft']!, 'list', 'ruleset']);
      expect(rules).not.toContain('captest0');
    },
  );

  test('changes come one after the other, the network stays while a unit is warm, and nobody waits for a repair', async () => {
    const own = join(directory, 'changes');
    const programs = programFolder(join(own, 'programs'), { ip: execFileSync('which', ['ip'], { encoding: 'utf8' }).trim() });
    const script = `#!/bin/sh
echo "$1" >> ${own}/calls
[ "$1" = delete ] && sleep 0.3
while [ "$1" = -f ] && [ -e ${own}/wait ]; do sleep 0.02; done
exec ${nftOnly()['nft']} "$@"
`;
    writeFileSync(join(programs, 'nft'), script, { mode: 0o755 });
    expect(await resultOf('network-changes-harness.ts', [own, programs])).toEqual({
      afterRace: { bridge: true, rules: true },
      withWarm: { bridge: true, rules: true },
      without: { bridge: false, rules: false },
      duringRepair: { isRepairing: true, bridge: 'captest2' },
      left: { bridge: false, rules: false },
    });
  });
});

test('a node without the programs says what to install', async () => {
  const network = new IsolatedNetwork({ bridge: 'captest1', programs: [join(directory, 'nothing')] });
  expect(await network.notice()).toContain('apt-get install iproute2 nftables');
  await expect(network.ensure('one')).rejects.toMatchObject({ name: 'UnitProblem', reason: 'NetworkUnavailable', isFinal: false });
  network.release('one');
  await network.tearDown();
});

test('programs that are there are looked for as often as the rules, missing ones at once', async () => {
  const programs = join(directory, 'coming', 'programs');
  const [network, hasty] = [30_000, 1].map((repairInterval) => new IsolatedNetwork({ programs: [programs], repairInterval })) as [
    IsolatedNetwork,
    IsolatedNetwork,
  ];
  expect(await network.notice()).toContain('apt-get install iproute2 nftables');
  programFolder(programs, { ip: '/bin/true', nft: '/bin/true' });
  for (const each of [network, hasty]) expect(await each.notice()).toBeUndefined();
  rmSync(programs, { recursive: true });
  await expect.poll(() => hasty.notice()).toContain('nftables');
  expect(await network.notice()).toBeUndefined();
  network.forget();
  expect(await network.notice()).toContain('nftables');
});
