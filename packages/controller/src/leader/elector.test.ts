import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { tcpProxy } from '@capstan/client/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ElectionOptions, LeaderElector } from './elector.ts';
import type { Lease } from './lease.ts';
import { HeldTerm, NotLeadingError, type Term } from './term.ts';

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const leases = () =>
  client.resource<Lease>({ group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true }).in('default');

const untilStopped = ({ signal }: Term): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** A contender in this process, and the log of its terms. */
function contend(name: string, options: Partial<ElectionOptions> = {}, lead = untilStopped) {
  const stop = new AbortController();
  const log: string[] = [];
  const elector = new LeaderElector({
    client,
    namespace: 'default',
    name,
    retryPeriod: 50,
    onLeader: (state) => void log.push(state),
    ...options,
  });
  return { elector, log, stop: () => stop.abort(), ended: elector.run(stop.signal, lead) };
}

test('hands over at once when the leader shuts down, although the lease has not expired', async () => {
  const slow = { leaseDuration: 600_000, renewDeadline: 300_000, retryPeriod: 60_000 };
  const first = contend('orderly', slow);
  await vi.waitFor(() => expect(first.elector.isLeading()).toBe(true), 10_000);
  const second = contend('orderly', slow);
  await vi.waitFor(async () => expect((await leases().get('orderly')).spec?.holderIdentity).toBe(first.elector.identity), 10_000);
  expect(second.elector.isLeading()).toBe(false);
  // Gives the second time to start waiting: it must be woken, not find the lease free by chance.
  await new Promise((resolve) => setTimeout(resolve, 200));
  first.stop();
  await first.ended;
  await vi.waitFor(() => expect(second.elector.isLeading()).toBe(true), 10_000);
  expect((await leases().get('orderly')).spec).toMatchObject({ holderIdentity: second.elector.identity, leaseTransitions: 1 });
  second.stop();
  await second.ended;
  expect([first.log, second.log]).toEqual([
    ['leading', 'released'],
    ['leading', 'released'],
  ]);
});

test('keeps the lease until the work has ended', async () => {
  const working = Promise.withResolvers<void>();
  const first = contend('winding-down', {}, () => working.promise);
  await vi.waitFor(() => expect(first.elector.isLeading()).toBe(true), 10_000);
  first.stop();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(first.elector.isLeading()).toBe(true);
  expect((await leases().get('winding-down')).spec?.holderIdentity).toBe(first.elector.identity);
  working.resolve();
  await first.ended;
  expect((await leases().get('winding-down')).spec?.holderIdentity ?? '').toBe('');
});

test('stops a leader that cannot renew, and lets it continue once it can', async () => {
  await using proxy = await tcpProxy(() => Number(new URL(server.url).port));
  using behind = new Client({ ...client.connection, server: `https://127.0.0.1:${proxy.port}` });
  const one = contend('cut-off', { client: behind, leaseDuration: 2000, renewDeadline: 1000 });
  await vi.waitFor(() => expect(one.elector.isLeading()).toBe(true), 10_000);
  proxy.stall();
  await vi.waitFor(() => expect(one.log.at(-1)).toBe('lost'), 10_000);
  expect(one.elector.isLeading()).toBe(false);
  proxy.heal();
  await vi.waitFor(() => expect(one.elector.isLeading()).toBe(true), 20_000);
  one.stop();
  await one.ended;
});

test('stops a leader whose lease was taken', async () => {
  const one = contend('stolen');
  await vi.waitFor(() => expect(one.log).toEqual(['leading']), 10_000);
  await leases().patch('stolen', { type: 'merge', patch: { spec: { holderIdentity: 'thief' } } });
  await vi.waitFor(() => expect(one.log).toEqual(['leading', 'lost']), 10_000);
  one.stop();
  await one.ended;
});

test('rejects periods that could let two processes lead', () => {
  expect(() => contend('wrong', { leaseDuration: 1000, renewDeadline: 1000 })).toThrow(
    'expected leaseDuration > renewDeadline > retryPeriod',
  );
});

test.each([
  ['the monotonic clock', { monotonic: 100, wall: 0 }],
  ['the wall clock, because the machine slept or the clock was set', { monotonic: 0, wall: 100 }],
])('a term ends when %s says so, and never resumes', (_what, passed) => {
  const now = { monotonic: 0, wall: 0 };
  const clock = { monotonic: () => now.monotonic, wall: () => now.wall };
  const term = new HeldTerm({ token: 1, clock, deadline: 100, since: { ...now } });
  expect(term.isLeading()).toBe(true);
  Object.assign(now, passed);
  expect(() => term.assertLeading()).toThrow(NotLeadingError);
  expect(term.signal.aborted).toBe(true);
  term.renewed({ ...now });
  expect(term.isLeading()).toBe(false);
});

test('a wall clock that is set back does not extend a term', () => {
  const now = { monotonic: 0, wall: 0 };
  const clock = { monotonic: () => now.monotonic, wall: () => now.wall };
  const term = new HeldTerm({ token: 1, clock, deadline: 100, since: { ...now } });
  Object.assign(now, { monotonic: 99, wall: -1_000_000 });
  expect(term.isLeading()).toBe(true);
  now.monotonic = 100;
  expect(term.isLeading()).toBe(false);
});
