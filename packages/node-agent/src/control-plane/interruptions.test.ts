import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Client } from '@capstan/client';
import { expect, test } from 'vitest';
import type { Moment } from '../time/moment.ts';
import { isRefused } from './control-plane.ts';
import { Interruptions } from './interruptions.ts';

const start = Date.UTC(2030, 0, 1);
/** The moment so many seconds after the start, on a machine whose clock is wrong by so many. */
const at = (seconds: number, { boot = 'one', ahead = 0 } = {}): Moment => ({
  boot,
  uptime: seconds * 1000,
  wall: start + (seconds + ahead) * 1000,
});

function follow(last?: Moment) {
  let changes = 0;
  const interruptions = new Interruptions({ last, noticeable: 40_000, onChange: () => void changes++ });
  const condition = (type: string) => interruptions.conditions.find((one) => one.type === type);
  return { interruptions, reachable: () => condition('Reachable'), clock: () => condition('ClockSteady'), changes: () => changes };
}

test('a first contact, and contacts that follow each other, are nothing special', () => {
  const { interruptions, reachable, clock, changes } = follow();
  for (const seconds of [0, 10, 20, 59]) interruptions.reached(at(seconds));
  expect([reachable(), clock(), changes()]).toEqual([undefined, undefined, 0]);
});

test('an agent that is started again in time is nothing special either', () => {
  const { interruptions, reachable } = follow(at(0));
  interruptions.reached(at(30));
  expect(reachable()).toBeUndefined();
});

test.each([
  { was: 'an agent that did not run', last: at(0), reason: 'AgentRestarted', words: 'the agent did not run' },
  {
    was: 'an agent that came back to a dead cable',
    last: at(0),
    failure: 'cut',
    reason: 'AgentRestarted',
    words: 'the agent did not run, and then the control plane could not be reached: cut',
  },
  {
    was: 'a machine that restarted',
    last: at(900, { boot: 'before', ahead: -900 }),
    reason: 'MachineRestarted',
    words: 'the machine restarted',
  },
])('the next agent says that it was $was', ({ last, failure, reason, words }) => {
  const { interruptions, reachable } = follow(last);
  if (failure !== undefined) interruptions.failed(failure);
  interruptions.reached(at(100));
  const message = `nothing was heard of this node for 100s, until 2030-01-01T00:01:40Z: ${words}`;
  expect(reachable()).toMatchObject({ status: 'True', reason, message });
});

test('a cut is told from a suspension, which may make requests fail, too', () => {
  const { interruptions, reachable } = follow();
  interruptions.reached(at(0));
  interruptions.ticked(0, 1_900, 1_000);
  interruptions.failed('connect ECONNREFUSED');
  interruptions.failed('later');
  interruptions.reached(at(3_600));
  expect(reachable()).toMatchObject({
    reason: 'NoConnection',
    message:
      'nothing was heard of this node for 60m, until 2030-01-01T01:00:00Z: the control plane could not be reached: connect ECONNREFUSED',
  });
  interruptions.ticked(3_605_000, 3_695_000, 1_000);
  interruptions.failed('aborted');
  interruptions.reached(at(3_700));
  expect(reachable()).toMatchObject({ reason: 'Suspended', message: expect.stringContaining('until 2030-01-01T01:01:40Z') });
  interruptions.reached(at(3_900));
  expect(reachable()).toMatchObject({ reason: 'NoConnection', message: expect.stringContaining('it did not answer in time') });
});

test('an agent that was suspended while it waited for an answer says so, although that answer was no silence', () => {
  const { interruptions, reachable } = follow();
  interruptions.reached(at(0));
  interruptions.ticked(11_000, 95_000, 1_000);
  // The request was sent before the suspension, and its answer is read after it.
  interruptions.reached(at(10));
  expect(reachable()).toBeUndefined();
  interruptions.reached(at(96));
  expect(reachable()).toMatchObject({ reason: 'Suspended' });
  interruptions.reached(at(200));
  expect(reachable()).toMatchObject({ reason: 'NoConnection' });
});

test('a control plane that did not run is told from a cut, also if the connection broke first', () => {
  const { interruptions, reachable } = follow();
  interruptions.reached(at(0));
  interruptions.failed('socket hang up');
  interruptions.failed('connect ECONNREFUSED', { isDown: true });
  interruptions.reached(at(100));
  expect(reachable()).toMatchObject({
    reason: 'ControlPlaneDown',
    message: 'nothing was heard of this node for 100s, until 2030-01-01T00:01:40Z: no server of the control plane ran: socket hang up',
  });
  interruptions.failed('timeout');
  interruptions.reached(at(200));
  expect(reachable()).toMatchObject({ reason: 'NoConnection' });
});

test('an error of a client says whether the server ran', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  using client = new Client({ server: `https://127.0.0.1:${port}`, namespace: 'default', credentials: { current: () => ({}) } });
  const error = await client.json({ method: 'GET', path: '/version' }).catch((reason: unknown) => reason);
  expect([isRefused(error), isRefused(new Error('timeout')), isRefused('text')]).toEqual([true, false, false]);
});

test('a control plane that was restored is named, however short it was away', () => {
  const { interruptions, reachable } = follow();
  interruptions.reached(at(0));
  interruptions.failed('connect ECONNREFUSED');
  interruptions.reached(at(20), { isRestored: true });
  expect(reachable()).toMatchObject({
    reason: 'ControlPlaneRestored',
    message: 'nothing was heard of this node for 20s, until 2030-01-01T00:00:20Z: the control plane was restored from a snapshot',
  });
  interruptions.reached(at(30));
  expect(reachable()).toMatchObject({ reason: 'ControlPlaneRestored' });
});

test('a clock that jumps is reported for an hour', () => {
  const { interruptions, reachable, clock } = follow();
  interruptions.reached(at(0));
  interruptions.reached(at(10, { ahead: 5 }));
  expect(clock()).toBeUndefined();
  interruptions.reached(at(20, { ahead: 30 * 3600 }));
  expect(clock()).toMatchObject({ status: 'False', reason: 'ClockJumped', message: expect.stringMatching(/jumped by 29h|jumped by 30h/) });
  interruptions.reached(at(30, { ahead: 0 }));
  expect(clock()).toMatchObject({ status: 'False', message: expect.stringMatching(/ back$/) });
  expect(reachable()).toBeUndefined();
  interruptions.reached(at(3_700));
  expect(clock()).toMatchObject({ status: 'True', reason: 'Steady' });
});
