import { cpSync } from 'node:fs';
import { type Host, HostNetwork, type HostProcess } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connected, Fleet, finish, join, patience, refused, startAgent, starts, stateDirectory } from './fleet.ts';

describeUnless(await HostNetwork.problem(), 'the identity of a host', () => {
  let fleet: Fleet;
  let n1: Host;
  let agent: HostProcess;
  beforeAll(async () => {
    fleet = await Fleet.start();
    ({ host: n1, agent } = await fleet.joined('n1'));
  });
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  test('is not given to a second host with the same token', async () => {
    const enrolment = await fleet.enroll('n2');
    const [first, second] = [await fleet.addHost('n2'), await fleet.addHost('thief')];
    await using right = join(first, enrolment);
    await connected(right);
    await using wrong = join(second, enrolment);
    expect(await wrong.exited).toMatchObject({ code: refused });
    expect(wrong.output).toContain('the token was used before, with another key');
    await fleet.state('n2', 'True');
  });

  test('cannot be used by two agents of one host', async () => {
    await using second = startAgent(n1);
    expect((await second.exited).code).not.toBe(0);
    expect(second.output).toContain('is in use by another agent');
    expect(agent.running).toBe(true);
  });

  test('locks the node when two hosts have it, and no task runs twice', async () => {
    const copy = await fleet.addHost('copy');
    await agent.stop();
    cpSync(n1.path(stateDirectory), copy.path(stateDirectory), { recursive: true });
    finish(n1, 'shared');
    finish(copy, 'shared');
    agent = startAgent(n1);
    await using other = startAgent(copy);
    await fleet.runTask('n1', 'shared');
    const [one, two] = await Promise.all([agent.exited, other.exited]);
    expect([one.code, two.code]).toEqual([refused, refused]);
    for (const { output } of [agent, other]) expect(output).toContain('two machines have used its identity');
    expect((await fleet.capstan('node', 'list')).stdout).toMatch(/^n1\s+Locked/m);
    expect(starts(n1, 'shared') + starts(copy, 'shared')).toBeLessThanOrEqual(1);
    const { stdout } = await fleet.capstan('node', 'unlock', 'n1', '--installed');
    await using again = join(n1, stdout.trim());
    await connected(again);
    await vi.waitFor(async () => expect((await fleet.capstan('node', 'list')).stdout).toMatch(/^n1\s+Ready/m), patience);
  });
});
