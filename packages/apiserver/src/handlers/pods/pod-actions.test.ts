import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const pods = '/api/v1/namespaces/default/pods';
const post = (path: string, body: object) => server.call(path, { method: 'POST', body });

async function createPod(name: string, spec: object = {}): Promise<void> {
  const reply = await post(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { containers: [{ name: 'a', image: 'x' }], ...spec },
  });
  expect(reply.code).toBe(201);
}

const binding = (name: string, node: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name },
  target: { kind: 'Node', name: node },
});
const eviction = (name: string) => ({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });

describe('binding a pod', () => {
  test('assigns it to a node, once', async () => {
    await createPod('bound');
    expect((await post(`${pods}/bound/binding`, binding('bound', 'n1'))).code).toBe(201);
    const pod = (await server.call(`${pods}/bound`)).json();
    expect(pod['spec']).toMatchObject({ nodeName: 'n1' });
    expect(pod['status']).toMatchObject({ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] });

    const again = await post(`${pods}/bound/binding`, binding('bound', 'n2'));
    expect(again.code).toBe(409);
    expect(again.json().message).toBe('Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "n1"');
  });

  test('waits for its scheduling gates', async () => {
    await createPod('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
    const reply = await post(`${pods}/gated/binding`, binding('gated', 'n1'));
    expect(reply.json().message).toContain('pod gated has non-empty .spec.schedulingGates');
  });

  test('requires a node', async () => {
    await createPod('nowhere');
    const reply = await post(`${pods}/nowhere/binding`, binding('nowhere', ''));
    expect([reply.code, reply.json().message]).toEqual([500, 'target.name: Required value']);
  });

  test('does not change its generation, and works through the bindings resource', async () => {
    await createPod('named');
    const bindings = '/api/v1/namespaces/default/bindings';
    expect((await post(bindings, binding('named', 'n1'))).code).toBe(201);
    expect((await server.call(`${pods}/named`)).json().metadata).toMatchObject({ generation: 1 });
    expect((await post(bindings, { target: { name: 'n1' } })).json().message).toBe('Name parameter required.');
  });

  test('may have preconditions', async () => {
    await createPod('meant');
    const { uid } = (await server.call(`${pods}/meant`)).json().metadata;
    const refused = await post(`${pods}/meant/binding`, { ...binding('meant', 'n1'), metadata: { name: 'meant', uid: 'other' } });
    expect([refused.code, refused.json().message]).toEqual([
      409,
      `Operation cannot be fulfilled on pods "meant": StorageError: invalid object, Code: 4, Key: /registry/pods/default/meant, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${uid}`,
    ]);
    expect((await post(`${pods}/meant/binding`, { ...binding('meant', 'n1'), metadata: { name: 'meant', uid } })).code).toBe(201);
  });

  test('must name the pod in its path, even a missing one', async () => {
    const reply = await post(`${pods}/none/binding`, binding('other', 'n1'));
    expect([reply.code, reply.json().message]).toEqual([400, 'name in URL does not match name in Binding object']);
  });
});

describe('deleting a pod', () => {
  test('that runs waits for its grace period, and happens immediately when requested', async () => {
    await createPod('running');
    await post(`${pods}/running/binding`, binding('running', 'n1'));
    const marked = (await server.call(`${pods}/running`, { method: 'DELETE' })).json();
    expect(marked.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
    expect((await server.call(`${pods}/running`)).code).toBe(200);
    const sooner = (await server.call(`${pods}/running?gracePeriodSeconds=10`, { method: 'DELETE' })).json();
    expect(sooner.metadata).toMatchObject({ deletionGracePeriodSeconds: 10, generation: marked.metadata.generation });
    await server.call(`${pods}/running?gracePeriodSeconds=0`, { method: 'DELETE' });
    expect((await server.call(`${pods}/running`)).code).toBe(404);
  });
});

describe('evicting a pod', () => {
  test('deletes one without a budget', async () => {
    await createPod('free');
    expect((await post(`${pods}/free/eviction`, eviction('free'))).code).toBe(201);
    expect((await server.call(`${pods}/free`)).code).toBe(404);
  });
});

describe('debugging a pod', () => {
  test('adds a container but never changes one', async () => {
    await createPod('debugged');
    const patch = (containers: object[]) =>
      server.call(`${pods}/debugged/ephemeralcontainers`, {
        method: 'PATCH',
        body: { spec: { ephemeralContainers: containers } },
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
      });
    expect((await patch([{ name: 'debugger', image: 'busybox' }])).json()['spec']).toMatchObject({
      ephemeralContainers: [{ name: 'debugger', image: 'busybox', imagePullPolicy: 'Always' }],
    });
    expect((await patch([{ name: 'debugger', image: 'other' }])).json().message).toContain(
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debugger" may not be changed',
    );
  });
});
