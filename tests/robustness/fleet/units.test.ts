import type { GPUUnit } from '@capstan/api';
import { type Host, HostNetwork, type HostProcess } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connected, Fleet, finish, gates, patience, startAgent } from './fleet.ts';

const program = `i=0; while [ ! -e ${gates}/steady ]; do echo line $i; i=$((i+1)); sleep 0.05; done; echo end; exit 3`;

describeUnless(await HostNetwork.problem(), 'a unit on a host of its own', () => {
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

  const unit = async (): Promise<GPUUnit> => {
    const { stdout } = await fleet.capstan('ps', '--all', '--output', 'json');
    return (JSON.parse(stdout) as { items: [GPUUnit] }).items[0];
  };
  const linesOf = (output: string): string[] => output.split('\n').filter((line) => /^(line \d+|end)$/.test(line));

  test('goes on while its agent is killed, and none of its output is lost', async () => {
    const words = ['--offering', 'small', '--network', 'none', '--no-upload', '--name', 'steady', '--', 'sh', '-c', program];
    await using running = fleet.follow('run', ...words);
    await running.waitUntil('it runs', () => running.output.includes('line 0\n'));
    await using following = fleet.follow('logs', '--follow', 'steady');
    // The server has got some of it by then, and serves that while the node is away.
    await following.waitUntil('it prints', () => following.output.includes('line 60\n'));
    await running.waitUntil('it prints', () => running.output.includes('line 60\n'));
    const { node = '' } = (await unit()).status?.members?.[0] ?? {};
    const before = linesOf(running.output).length + 40;
    await agents.get(node)!.kill();
    await fleet.state(node, 'Unknown');
    for (const follower of [running, following])
      await follower.waitUntil('it is connected', () => follower.output.includes('Connected again.'));
    await using agent = startAgent(hosts.get(node)!);
    await connected(agent);
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
    const { status } = await unit();
    expect(status).toMatchObject({ phase: 'Failed', exitCode: 3, run: 1 });
    expect(status?.restarts ?? 0).toBe(0);
  });
});
