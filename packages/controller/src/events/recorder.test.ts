import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventRecorder } from './recorder.ts';

const eventType = { group: '', version: 'v1', resource: 'events', namespaced: true };
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

const thing = (name: string): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
});
const eventsOf = async (name: string): Promise<KubeObject[]> =>
  (
    await client
      .resource(eventType)
      .in('default')
      .list({ fieldSelector: `involvedObject.name=${name}` })
  ).items;

test('raises the count of an event that is recorded again', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const recorder = new EventRecorder({ client, component: 'tester', now: () => now });
  for (let time = 0; time < 5; time++) {
    recorder.warning(thing('again'), 'Failed', 'no space');
    now += 1000;
    await recorder.flush();
  }
  const events = await eventsOf('again');
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    type: 'Warning',
    reason: 'Failed',
    message: 'no space',
    count: 5,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:04Z',
    involvedObject: { apiVersion: 'example.com/v1', kind: 'Thing', uid: 'uid-again', namespace: 'default' },
    reportingComponent: 'tester',
  });
});

test('counts events that are recorded during a write', async () => {
  const recorder = new EventRecorder({ client, component: 'tester' });
  for (let time = 0; time < 20; time++) recorder.normal(thing('burst'), 'Seen', 'here');
  await recorder.flush();
  expect(await eventsOf('burst')).toEqual([expect.objectContaining({ count: 20 })]);
});

test('combines many messages of one reason into one event', async () => {
  const recorder = new EventRecorder({ client, component: 'tester' });
  for (let time = 0; time < 15; time++) recorder.normal(thing('similar'), 'Tried', `attempt ${time}`);
  await recorder.flush();
  const events = await eventsOf('similar');
  expect(events).toHaveLength(11);
  expect(events.filter(({ message }) => String(message).startsWith('(combined from similar events)'))).toEqual([
    expect.objectContaining({ count: 5 }),
  ]);
});

test('limits the events of one object', async () => {
  const recorder = new EventRecorder({ client, component: 'tester', now: () => 0 });
  for (let time = 0; time < 100; time++) {
    recorder.normal(thing('noisy'), `Reason${time}`, 'noise');
    await recorder.flush();
  }
  expect(await eventsOf('noisy')).toHaveLength(25);
});

test('creates an event again that has expired meanwhile', async () => {
  const recorder = new EventRecorder({ client, component: 'tester' });
  recorder.normal(thing('expired'), 'Seen', 'here');
  await recorder.flush();
  await client.resource(eventType).in('default').deleteCollection({ fieldSelector: 'involvedObject.name=expired' });
  recorder.normal(thing('expired'), 'Seen', 'here');
  await recorder.flush();
  expect(await eventsOf('expired')).toEqual([expect.objectContaining({ count: 2 })]);
});

test('reports a rejected event without throwing', async () => {
  const errors: unknown[] = [];
  const recorder = new EventRecorder({ client, component: 'tester', onError: (error) => void errors.push(error) });
  const nowhere = { ...thing('lost'), metadata: { name: 'lost', namespace: 'nowhere' } };
  recorder.normal(nowhere, 'Seen', 'here');
  await recorder.flush();
  expect(errors).toEqual([expect.objectContaining({ code: 404 })]);
});

test('writes few events at the same time, and all of them in the end', async () => {
  let [open, most] = [0, 0];
  const observed = new Proxy(client, {
    get(target, property) {
      if (property !== 'resource') return Reflect.get(target, property, target) as unknown;
      return () => ({
        in: () => ({
          create: async () => {
            most = Math.max(most, ++open);
            await new Promise((resolve) => setTimeout(resolve, 1));
            open--;
          },
        }),
      });
    },
  });
  const recorder = new EventRecorder({ client: observed, component: 'tester' });
  for (let index = 0; index < 50; index++) recorder.normal(thing(`many-${index}`), 'Seen', 'here');
  await recorder.flush();
  expect([open, most]).toEqual([0, 4]);
});
