import { type Host, HostNetwork, tool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { begun, connected, declareGpus, Fleet, finish, join, patience, startAgent, starts, stateDirectory } from './fleet.ts';

const faketime = await tool('faketime');
const problem = (await HostNetwork.problem()) ?? ('missing' in faketime ? faketime.missing : undefined);

describeUnless(problem, 'machines whose disk or clock is wrong', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start();
  });
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  test('a full disk delays tasks and loses nothing', async () => {
    const host = await fleet.addHost('full');
    await host.mountSmallDisk(stateDirectory, 16);
    declareGpus(host);
    await using agent = join(host, await fleet.enroll('full'));
    await connected(agent);
    await fleet.state('full', 'True');
    await fleet.runTask('full', 'running');
    await begun(host, 'running');
    host.fillDisk(stateDirectory);
    const waiting = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6'];
    for (const name of waiting) {
      finish(host, name);
      await fleet.runTask('full', name);
    }
    // The journal has room for some of them, and the others wait. The status of each says why.
    const stuck = async (name: string): Promise<string | undefined> => {
      const { status } = await fleet.task('full', name);
      expect(`${status?.step ?? ''}${status?.error?.message ?? ''}`).toMatch(/ENOSPC|no space left/i);
      return status?.error?.code;
    };
    const codes = await Promise.all(waiting.map((name) => vi.waitFor(() => stuck(name), patience)));
    expect(new Set(codes)).toEqual(new Set(['DiskFull', undefined]));
    finish(host, 'running');
    await fleet.state('full', 'True');
    await host.freeDisk(stateDirectory);
    await fleet.phase('full', 'running', 'Succeeded');
    for (const name of waiting) {
      // Those that waited may have found room in the journal meanwhile, and none for what follows.
      const { status } = await vi.waitFor(async () => {
        const task = await fleet.task('full', name);
        expect(task.status?.finishedAt, JSON.stringify(task.status)).toBeDefined();
        return task;
      }, patience);
      if (status?.error?.code === 'DiskFull') expect(await fleet.capstan('task', 'retry', name)).toMatchObject({ code: 0 });
      await fleet.phase('full', name, 'Succeeded');
    }
    expect(['running', ...waiting].map((name) => starts(host, name))).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  test('a control plane that is restored accepts nodes that have renewed their certificate since', async () => {
    const { host, agent } = await fleet.joined('ahead', { clock: true });
    await fleet.runTask('ahead', 'long');
    await begun(host, 'long');
    const restore = await fleet.snapshot('early');
    for (const [hours, generation] of [
      [13, 2],
      [26, 3],
    ] as const) {
      host.setClock(hours * 3600);
      // It looks at its clock once a minute, and whenever it starts.
      agent.signal('SIGTERM');
      await agent.exited;
      await renewed(host, generation);
    }
    await using again = startAgent(host);
    await connected(again);
    await restore();
    await vi.waitFor(async () => expect((await fleet.node('ahead')).status?.identity?.generation).toBe(4), patience);
    await fleet.state('ahead', 'True');
    finish(host, 'long');
    await fleet.phase('ahead', 'long', 'Succeeded');
    expect(starts(host, 'long')).toBe(1);
  });

  const renewed = async (host: Host, generation: number): Promise<void> => {
    await using agent = startAgent(host);
    await vi.waitFor(async () => expect((await fleet.node(host.name)).status?.identity?.generation).toBe(generation), patience);
    await agent.waitUntil('it has stored the certificate', () => agent.output.includes('was renewed'));
  };

  test('a clock that jumps ends nothing and runs nothing again', async () => {
    const { host, agent } = await fleet.joined('clock', { clock: true });
    await fleet.runTask('clock', 'jumping');
    await begun(host, 'jumping');
    for (const hours of [30, -30, 0]) {
      host.setClock(hours * 3600);
      await agent.waitUntil('it beats', async () => (await fleet.node('clock')).status?.identity?.locked === undefined);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await fleet.state('clock', 'True');
      expect(await fleet.reason('clock', 'ClockSteady', 'ClockJumped')).toContain(hours === 30 ? 'forward' : 'jumped by');
      expect((await fleet.task('clock', 'jumping')).status?.phase).toBe('Running');
    }
    finish(host, 'jumping');
    await fleet.phase('clock', 'jumping', 'Succeeded');
    expect(starts(host, 'jumping')).toBe(1);
  });
});
