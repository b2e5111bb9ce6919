import { type Host, HostNetwork } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { begun, Fleet, finish, starts } from './fleet.ts';

describeUnless(await HostNetwork.problem(), 'nodes without their control plane', () => {
  let fleet: Fleet;
  let n1: Host;
  let n2: Host;
  let booked: readonly string[];
  beforeAll(async () => {
    fleet = await Fleet.start();
    [{ host: n1 }, { host: n2 }] = await Promise.all([fleet.joined('n1'), fleet.joined('n2')]);
    await fleet.order('first', 'second', 'third');
    booked = await fleet.bookings();
  });
  afterEach(async () => expect(await fleet.bookings()).toEqual(booked));
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  test('a cut of a second is not noticed', async () => {
    await fleet.runTask('n1', 'blink');
    await begun(n1, 'blink');
    await n1.cut();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await n1.restore();
    finish(n1, 'blink');
    await fleet.phase('n1', 'blink', 'Succeeded');
    expect(starts(n1, 'blink')).toBe(1);
  });

  test('a node that is cut off is Unknown, keeps everything, and reports what happened when it is back', async () => {
    await fleet.runTask('n1', 'alone');
    await begun(n1, 'alone');
    await n1.cut();
    await fleet.state('n1', 'Unknown');
    expect((await fleet.task('n1', 'alone')).status?.phase).toBe('Running');
    await fleet.runTask('n1', 'later');
    finish(n1, 'alone');
    finish(n1, 'later');
    await n1.restore();
    await fleet.phase('n1', 'alone', 'Succeeded');
    await fleet.phase('n1', 'later', 'Succeeded');
    await fleet.state('n1', 'True');
    expect(await fleet.reason('n1', 'Reachable', 'NoConnection')).toContain('the control plane could not be reached');
    expect([starts(n1, 'alone'), starts(n1, 'later')]).toEqual([1, 1]);
  });

  test('connections that died during a long cut are replaced', async () => {
    await n2.cut();
    // As after hours: the servers' end of every connection is gone, and the node was not told.
    expect((await fleet.network.run(['ss', '--kill', 'dst', n2.address])).stdout).toContain(n2.address);
    await fleet.state('n2', 'Unknown');
    await fleet.runTask('n2', 'afterwards');
    finish(n2, 'afterwards');
    await n2.restore();
    await fleet.phase('n2', 'afterwards', 'Succeeded');
    await fleet.state('n2', 'True');
    await fleet.reason('n2', 'Reachable', 'NoConnection');
    expect(starts(n2, 'afterwards')).toBe(1);
  });

  test('a control plane that is killed finds tasks as they are', async () => {
    await fleet.runTask('n1', 'ends');
    await fleet.runTask('n2', 'runs');
    await begun(n1, 'ends');
    await begun(n2, 'runs');
    await fleet.restart({ kill: true, meanwhile: async () => finish(n1, 'ends') });
    await fleet.phase('n1', 'ends', 'Succeeded');
    await fleet.phase('n2', 'runs', 'Running');
    finish(n2, 'runs');
    await fleet.phase('n2', 'runs', 'Succeeded');
    expect([starts(n1, 'ends'), starts(n2, 'runs')]).toEqual([1, 1]);
  });

  test('a control plane that is restored from before the end of tasks learns their end, and none runs again', async () => {
    await fleet.runTask('n1', 'before');
    await begun(n1, 'before');
    await n2.pause();
    await fleet.runTask('n2', 'pending');
    const restore = await fleet.snapshot('backup');
    n2.resume();
    for (const [host, name] of [
      [n1, 'before'],
      [n2, 'pending'],
    ] as const) {
      await begun(host, name);
      finish(host, name);
      await fleet.phase(host.name, name, 'Succeeded');
    }
    await restore();
    await fleet.phase('n1', 'before', 'Succeeded');
    await fleet.phase('n2', 'pending', 'Succeeded');
    expect([starts(n1, 'before'), starts(n2, 'pending')]).toEqual([1, 1]);
    await fleet.state('n1', 'True');
    await fleet.state('n2', 'True');
    for (const node of ['n1', 'n2'])
      expect(await fleet.reason(node, 'Reachable', 'ControlPlaneRestored')).toContain('the control plane was restored from a snapshot');
  });
});
