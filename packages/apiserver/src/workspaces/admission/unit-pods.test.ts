import { unitLabel } from '@capstan/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const pods = '/api/v1/namespaces/default/pods';
const labels = { [unitLabel]: 'x' };
const spec = { containers: [{ name: 'main', image: 'x' }] };

/** The refusals of pods that exist are tested with units, in the compute package: nobody else can make such a pod. */
describe('the label of pods that show units', () => {
  test('is refused to everybody, also in the root workspace', async () => {
    const reply = await server.call(pods, { method: 'POST', body: { metadata: { name: 'forged', labels }, spec } });
    expect([reply.code, reply.json().message]).toEqual([
      403,
      `pods "forged" is forbidden: the label ${unitLabel} is for pods that mirror GPU units; create a GPUUnit instead`,
    ]);
  });

  test('cannot be added by a binding, at either of its paths', async () => {
    await server.call(pods, { method: 'POST', body: { metadata: { name: 'own' }, spec } });
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'own', labels }, target: { kind: 'Node', name: 'n' } };
    for (const path of [`${pods}/own/binding`, '/api/v1/namespaces/default/bindings']) {
      const reply = await server.call(path, { method: 'POST', body });
      expect([reply.code, reply.json().message]).toEqual([403, expect.stringContaining(unitLabel)]);
    }
    expect((await server.call(`${pods}/own`)).json().metadata.labels ?? {}).toEqual({});
  });

  test('does not concern other kinds', async () => {
    const reply = await server.call('/api/v1/namespaces/default/configmaps', {
      method: 'POST',
      body: { metadata: { name: 'map', labels } },
    });
    expect(reply.code).toBe(201);
  });
});
