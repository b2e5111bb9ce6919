import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
let count = 0;
let app = '';

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(() => {
  app = `app-${++count}`;
});

const pods = '/api/v1/namespaces/default/pods';
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const headers = { 'content-type': 'application/merge-patch+json' };

const post = (path: string, body: unknown): Promise<Reply> => server.call(path, { method: 'POST', body });
const setStatus = (path: string, status: JsonObject): Promise<Reply> =>
  server.call(`${path}/status`, { method: 'PATCH', headers, body: { status } });

async function running(name: string, ready: 'True' | 'False' = 'True'): Promise<void> {
  const spec = { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0 };
  expect((await post(pods, { metadata: { name, labels: { app } }, spec })).code).toBe(201);
  await setStatus(`${pods}/${name}`, { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] });
}

async function budget(status: JsonObject, spec: JsonObject = {}): Promise<void> {
  const made = await post(budgets, { metadata: { name: app }, spec: { minAvailable: 1, selector: { matchLabels: { app } }, ...spec } });
  expect(made.code).toBe(201);
  const counts = { observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 0 };
  expect((await setStatus(`${budgets}/${app}`, { ...counts, ...status })).code).toBe(200);
}

const evict = (name: string, deleteOptions?: JsonObject, query = ''): Promise<Reply> =>
  post(`${pods}/${name}/eviction${query}`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions });

const isThere = async (name: string): Promise<boolean> => (await server.call(`${pods}/${name}`)).code === 200;

describe('an eviction', () => {
  test('as a dry run deletes nothing, whichever way it is requested', async () => {
    await running(app);
    await budget({ disruptionsAllowed: 1 });
    expect((await evict(app, { dryRun: ['All'] })).code).toBe(201);
    expect((await evict(app, undefined, '?dryRun=All')).code).toBe(201);
    expect(await isThere(app)).toBe(true);
    expect((await server.call(`${budgets}/${app}`)).json()['status']).toMatchObject({ disruptionsAllowed: 1 });
  });

  test('may use the previous version', async () => {
    await running(app);
    const reply = await post(`${pods}/${app}/eviction`, { apiVersion: 'policy/v1beta1', kind: 'Eviction', metadata: { name: app } });
    expect([reply.code, await isThere(app)]).toEqual([201, false]);
  });

  test('validates its delete options', async () => {
    await running(app);
    expect((await evict(app, { propagationPolicy: 'x' })).json()).toMatchObject({ code: 422, reason: 'Invalid' });
    const unlike = await evict(app, { dryRun: ['x'] }, '?dryRun=All');
    expect([unlike.code, unlike.json().message]).toEqual([500, 'Non-matching dry-run options in request and content: [All] and [x]']);
    const unsafe = await evict(app, { ignoreStoreReadErrorWithClusterBreakingPotential: true });
    expect(unsafe.json().message).toContain('can not be set for pod eviction, try after removing the option');
    expect(await isThere(app)).toBe(true);
  });

  test('is charged to the budget immediately, so that two cannot pass where one may', async () => {
    await running(`${app}-1`);
    await running(`${app}-2`);
    await budget({ disruptionsAllowed: 1 });
    const codes = (await Promise.all([evict(`${app}-1`), evict(`${app}-2`)])).map(({ code }) => code);
    expect(codes.toSorted((a, b) => a - b)).toEqual([201, 429]);
    const { status } = (await server.call(`${budgets}/${app}`)).json() as unknown as { status: { disruptedPods: object } };
    expect(status).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', observedGeneration: 1 }],
    });
    expect(Object.keys(status.disruptedPods)).toHaveLength(1);
  });

  test('is rejected with the requirement of the budget', async () => {
    await running(app);
    await budget({ desiredHealthy: 3 });
    expect((await evict(app)).json()).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [{ reason: 'DisruptionBudget', message: `The disruption budget ${app} needs 3 healthy pods and has 2 currently` }],
      },
    });
  });

  test('waits for a budget that the controller has not observed yet', async () => {
    await running(app);
    await budget({ disruptionsAllowed: 1, observedGeneration: 0 });
    expect((await evict(app)).json()).toMatchObject({
      code: 429,
      details: {
        retryAfterSeconds: 10,
        causes: [{ message: `The disruption budget ${app} is still being processed by the server.` }],
      },
    });
  });

  test('of an unready pod is free if enough others are healthy, or if the budget always allows it', async () => {
    await running(app, 'False');
    await budget({});
    expect((await evict(app)).code).toBe(201);
    app = `${app}-always`;
    await running(app, 'False');
    await budget({ currentHealthy: 0 }, { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    expect((await evict(app)).code).toBe(201);
    expect((await server.call(`${budgets}/${app}`)).json()['status']).not.toHaveProperty('disruptedPods');
  });

  test('sets a condition with its reason on the pod', async () => {
    await running(app);
    const metadata = { finalizers: ['example.com/wait'] };
    await server.call(`${pods}/${app}`, { method: 'PATCH', headers, body: { metadata } });
    expect((await evict(app)).code).toBe(201);
    const pod = (await server.call(`${pods}/${app}`)).json();
    expect(pod.metadata.deletionTimestamp).toBeDefined();
    expect(pod['status']).toMatchObject({
      conditions: [
        { type: 'Ready' },
        { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' },
      ],
    });
    expect(JSON.stringify(pod.metadata.managedFields)).not.toContain('DisruptionTarget');
  });

  test('checks its preconditions', async () => {
    await running(app);
    const { metadata } = (await server.call(`${pods}/${app}`)).json();
    expect((await evict(app, { preconditions: { resourceVersion: '1' } })).code).toBe(409);
    expect(await isThere(app)).toBe(true);
    expect((await evict(app, { preconditions: { resourceVersion: metadata.resourceVersion!, uid: metadata.uid! } })).code).toBe(201);
    expect(await isThere(app)).toBe(false);
  });

  test('of a pod with two budgets is rejected', async () => {
    await running(app);
    await budget({ disruptionsAllowed: 1 });
    const second = { metadata: { name: `${app}-too` }, spec: { minAvailable: 1, selector: { matchLabels: { app } } } };
    await post(budgets, second);
    expect((await evict(app)).json()).toMatchObject({
      code: 500,
      message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    });
  });
});
