import type { GPUUnit } from '@capstan/api';
import { type Host, HostNetwork, type HostProcess, requireTool } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connected, Fleet, finish, gates, patience, startAgent } from './fleet.ts';

const programUntil = (gate: string): string =>
  `i=0; while [ ! -e ${gates}/${gate} ]; do echo line $i; i=$((i+1)); sleep 0.05; done; echo end; exit 3`;

describeUnless((await HostNetwork.problem()) ?? (await skipReason(['kubectl'])), 'a unit on a host of its own', () => {
  let fleet: Fleet;
  let hosts: Map<string, Host>;
  let agents: Map<string, HostProcess>;
  beforeAll(async () => {
    fleet = await Fleet.start();
    const [one, two] = await Promise.all([fleet.joined('n1'), fleet.joined('n2')]);
    hosts = new Map([one.host, two.host].map((host) => [host.name, host]));
    agents = new Map([
      ['n1', one.agent],
      ['n2', two.agent],
    ]);
    expect(await fleet.capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi')).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect(await fleet.capstan('ws', 'use', 'root:main:default')).toMatchObject({ code: 0 }), patience);
  });
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  const unit = async (name: string): Promise<GPUUnit> => {
    const { stdout } = await fleet.capstan('ps', '--all', '--output', 'json');
    return (JSON.parse(stdout) as { items: GPUUnit[] }).items.find(({ metadata }) => metadata.name === name)!;
  };
  const linesOf = (output: string): string[] => output.split('\n').filter((line) => /^(line \d+|end)$/.test(line));

  test('goes on while its agent is killed, and none of its output is lost', async () => {
    const words = ['--offering', 'small', '--network', 'none', '--no-upload', '--name', 'steady', '--', 'sh', '-c', programUntil('steady')];
    await using running = fleet.follow('run', ...words);
    await running.waitUntil('it runs', () => running.output.includes('line 0\n'));
    await using following = fleet.follow('logs', '--follow', 'steady');
    // The server has got some of it by then, and serves that while the node is away.
    await following.waitUntil('it prints', () => following.output.includes('line 60\n'));
    await running.waitUntil('it prints', () => running.output.includes('line 60\n'));
    const { node = '' } = (await unit('steady')).status?.members?.[0] ?? {};
    const before = linesOf(running.output).length + 40;
    await agents.get(node)!.kill();
    await fleet.state(node, 'Unknown');
    for (const follower of [running, following])
      await follower.waitUntil('it says why nothing comes', () => follower.output.includes('Its node is silent: '));
    agents.set(node, startAgent(hosts.get(node)!));
    await connected(agents.get(node)!);
    for (const follower of [running, following])
      await follower.waitUntil('it prints again', () => linesOf(follower.output).length > before);
    await fleet.state(node, 'True');
    finish(hosts.get(node)!, 'steady');
    expect(await running.exited).toEqual({ code: 3, signal: null });
    const lines = linesOf(running.output);
    // A second start would begin at 0 again.
    expect(lines).toEqual([...lines.slice(0, -1).map((_, index) => `line ${index}`), 'end']);
    await following.exited;
    expect(linesOf(following.output)).toEqual(lines);
    expect(linesOf((await fleet.capstan('logs', 'steady')).stdout)).toEqual(lines);
    const { status } = await unit('steady');
    expect(status).toMatchObject({ phase: 'Failed', exitCode: 3, run: 1 });
    expect(status?.restarts ?? 0).toBe(0);
  });

  test('is followed by kubectl while its node is cut off', async () => {
    const words = ['--offering', 'small', '--network', 'none', '--no-upload', '--name', 'far', '--', 'sh', '-c', programUntil('far')];
    expect(await fleet.capstan('run', '--detach', ...words)).toMatchObject({ code: 0 });
    expect(await fleet.capstan('wait', 'far', '--for', 'running')).toMatchObject({ code: 0 });
    const kubectl = await requireTool('kubectl');
    await using early = fleet.start([kubectl, 'logs', '--follow', 'far']);
    // The server has got some of it by then.
    await early.waitUntil('it prints', () => early.output.includes('line 60\n'));
    const { node = '' } = (await unit('far')).status?.members?.[0] ?? {};
    const host = hosts.get(node)!;
    await host.cut();
    // As after hours: the server's end of the tunnel is gone.
    expect((await fleet.network.run(['ss', '--kill', 'dst', host.address])).stdout).toContain(host.address);
    await using late = fleet.start([kubectl, 'logs', '--follow', '--timestamps', 'far']);
    await late.waitUntil('it says that the node is away', () => late.output.includes(`Warning: node ${node} is away`));
    await late.waitUntil('it prints what was sent', () => late.output.includes(' line 20\n'));
    await fleet.state(node, 'Unknown');
    const before = linesOf(early.output).length + 40;
    await host.restore();
    await early.waitUntil('it prints again', () => linesOf(early.output).length > before);
    finish(host, 'far');
    for (const follower of [early, late]) expect(await follower.exited).toEqual({ code: 0, signal: null });
    const lines = linesOf((await fleet.capstan('logs', 'far')).stdout);
    expect(lines).toEqual([...lines.slice(0, -1).map((_, index) => `line ${index}`), 'end']);
    expect(linesOf(early.output)).toEqual(lines);
    expect(linesOf(late.output.replaceAll(/^\S+Z /gm, ''))).toEqual(lines);
  });
});
