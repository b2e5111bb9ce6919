import { type Host, HostNetwork, type HostProcess } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { begun, connected, Fleet, finish, patience, startAgent, starts } from './fleet.ts';

describeUnless(await HostNetwork.problem(), 'agents on hosts of their own', () => {
  let fleet: Fleet;
  let n1: Host;
  let n2: Host;
  let agent: HostProcess;
  let booked: readonly string[];
  beforeAll(async () => {
    fleet = await Fleet.start();
    [{ host: n1, agent }, { host: n2 }] = await Promise.all([fleet.joined('n1'), fleet.joined('n2')]);
    await fleet.order('first', 'second', 'third');
    booked = await fleet.bookings();
  });
  afterEach(async () => expect(await fleet.bookings()).toEqual(booked));
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  test('show their GPUs, which are booked once each', async () => {
    const { stdout } = await fleet.capstan('node', 'list');
    for (const name of ['n1', 'n2']) expect(stdout).toMatch(new RegExp(`^${name}\\s+Ready\\s+-\\s+4×H200\\s+4 Healthy`, 'm'));
    expect((await fleet.node('n2')).status?.addresses).toEqual([{ interface: 'eth0', address: n2.address }]);
    expect(booked).toHaveLength(6);
  });

  test('send the output of tasks while they run', async () => {
    await fleet.runTask('n1', 'live');
    await fleet.runTask('n2', 'other');
    await begun(n1, 'live');
    await using log = fleet.follow('task', 'logs', 'live', '--follow');
    await log.waitUntil('its first line', () => log.output.includes('one'));
    expect(log.output).not.toContain('two');
    finish(n1, 'live');
    expect(await log.exited).toMatchObject({ code: 0 });
    expect(log.output).toContain('one\ntwo\n');
    finish(n2, 'other');
    await fleet.phase('n1', 'live', 'Succeeded');
    await fleet.phase('n2', 'other', 'Succeeded');
    expect([starts(n1, 'live'), starts(n2, 'live'), starts(n2, 'other')]).toEqual([1, 0, 1]);
  });

  test('find their tasks again when they are killed', async () => {
    await fleet.runTask('n1', 'orphan');
    await begun(n1, 'orphan');
    await agent.kill();
    await fleet.state('n1', 'Unknown');
    expect((await fleet.task('n1', 'orphan')).status?.phase).toBe('Running');
    finish(n1, 'orphan');
    agent = startAgent(n1);
    await fleet.phase('n1', 'orphan', 'Succeeded');
    await fleet.state('n1', 'True');
    expect(await fleet.reason('n1', 'Reachable', 'AgentRestarted')).toMatch(
      /^nothing was heard of this node for .*: the agent did not run$/,
    );
    expect((await fleet.capstan('node', 'show', 'n1')).stdout).toMatch(/^Last silence:\s+nothing was heard .*: the agent did not run$/m);
    expect(starts(n1, 'orphan')).toBe(1);
  });

  test('go on when they were suspended, and so do their tasks', async () => {
    await fleet.runTask('n1', 'suspended');
    await begun(n1, 'suspended');
    await agent.pause();
    await fleet.state('n1', 'Unknown');
    await fleet.runTask('n1', 'waiting');
    finish(n1, 'suspended');
    finish(n1, 'waiting');
    expect((await fleet.task('n1', 'suspended')).status?.phase).toBe('Running');
    expect((await fleet.capstan('node', 'list')).stdout).toMatch(/^n1\s+Unknown\s+-\s+4×H200\s+4 Healthy/m);
    agent.resume();
    await fleet.phase('n1', 'suspended', 'Succeeded');
    await fleet.phase('n1', 'waiting', 'Succeeded');
    await fleet.state('n1', 'True');
    await fleet.reason('n1', 'Reachable', 'Suspended');
    expect([starts(n1, 'suspended'), starts(n1, 'waiting')]).toEqual([1, 1]);
  });

  test('do the same when the whole host was suspended', async () => {
    await fleet.runTask('n2', 'frozen');
    await begun(n2, 'frozen');
    await n2.pause();
    await fleet.state('n2', 'Unknown');
    n2.resume();
    await fleet.state('n2', 'True');
    await fleet.reason('n2', 'Reachable', 'Suspended');
    expect((await fleet.task('n2', 'frozen')).status?.phase).toBe('Running');
    finish(n2, 'frozen');
    await fleet.phase('n2', 'frozen', 'Succeeded');
    expect(starts(n2, 'frozen')).toBe(1);
  });

  test('say that the machine restarted while a task ran, and do not run it again', async () => {
    await fleet.runTask('n1', 'interrupted');
    await begun(n1, 'interrupted');
    await n1.reboot();
    await fleet.state('n1', 'Unknown');
    agent = startAgent(n1);
    await connected(agent);
    const { status } = await fleet.phase('n1', 'interrupted', 'Unknown');
    expect(status?.error).toMatchObject({ code: 'Interrupted', message: expect.stringContaining('the machine restarted') });
    await fleet.state('n1', 'True');
    await fleet.reason('n1', 'Reachable', 'MachineRestarted');
    expect(starts(n1, 'interrupted')).toBe(1);
    // Somebody has looked, and asks for it again.
    expect(await fleet.capstan('task', 'retry', 'interrupted')).toMatchObject({ code: 0 });
    finish(n1, 'interrupted');
    await fleet.phase('n1', 'interrupted', 'Succeeded');
    expect(starts(n1, 'interrupted')).toBe(2);
  });

  test('end tasks that ignore SIGTERM, with everything that they started', async () => {
    await fleet.createScript(
      'stubborn',
      '#!/bin/sh\ntrap "" TERM\necho "$1" >> /var/log/work\nsetsid sleep 617 &\nwhile :; do sleep 0.1; done\n',
    );
    await fleet.runTask('n2', 'stubborn', 'stubborn');
    await begun(n2, 'stubborn');
    await fleet.cancel('n2', 'stubborn');
    const { status } = await fleet.phase('n2', 'stubborn', 'Cancelled');
    expect(status?.error?.message).toBe('cancelled; it ignored SIGTERM and was killed after 10 s');
    // The name is an argument of the script. Hosts see the processes of other tests.
    const { stdout } = await n2.run(['ps', '-eo', 'args']);
    expect(stdout).not.toMatch(/sleep 617|stubborn/);
  });

  test('keep the beginning of a gigabyte of output, and say that the rest is missing', async () => {
    await fleet.createScript('loud', '#!/bin/sh\necho begin\nhead -c 1G /dev/zero | tr "\\0" x\necho end\n');
    await fleet.runTask('n2', 'loud', 'loud');
    const { status } = await fleet.phase('n2', 'loud', 'Succeeded');
    expect(status?.output).toEqual({ bytes: 64 << 20, truncated: true });
    const shown = await fleet.capstan('task', 'show', 'loud');
    expect(shown.stdout).toMatch(/truncated|discarded/);
    await vi.waitFor(async () => expect((await fleet.capstan('node', 'list')).stdout).toMatch(/^n2\s+Ready/m), patience);
  });
});
