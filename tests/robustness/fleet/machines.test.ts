import { HostNetwork, tool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { begun, connected, declareGpus, Fleet, finish, join, starts, stateDirectory } from './fleet.ts';

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
    finish(host, 'running');
    await fleet.runTask('full', 'waiting');
    await agent.waitUntil('it complains', () => /ENOSPC|no space/i.test(agent.output));
    await fleet.state('full', 'True');
    await host.freeDisk(stateDirectory);
    finish(host, 'waiting');
    await fleet.phase('full', 'running', 'Succeeded');
    await fleet.phase('full', 'waiting', 'Succeeded');
    expect([starts(host, 'running'), starts(host, 'waiting')]).toEqual([1, 1]);
  });

  test('a clock that jumps ends nothing and runs nothing again', async () => {
    const { host, agent } = await fleet.joined('clock', { clock: true });
    await fleet.runTask('clock', 'jumping');
    await begun(host, 'jumping');
    for (const hours of [30, -30, 0]) {
      host.setClock(hours * 3600);
      await agent.waitUntil('it beats', async () => (await fleet.node('clock')).status?.identity?.locked === undefined);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await fleet.state('clock', 'True');
      expect((await fleet.task('clock', 'jumping')).status?.phase).toBe('Running');
    }
    finish(host, 'jumping');
    await fleet.phase('clock', 'jumping', 'Succeeded');
    expect(starts(host, 'jumping')).toBe(1);
  });
});
