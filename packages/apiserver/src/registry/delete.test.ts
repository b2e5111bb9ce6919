import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const path = '/api/v1/namespaces';
const remove = (name: string, options: object): Promise<Reply> => server.call(`${path}/${name}`, { method: 'DELETE', body: options });

it.each([{ propagationPolicy: 'Foreground' }, { orphanDependents: true }])(
  'deletes a namespace with its content, even with %j',
  async (options) => {
    const name = 'propagationPolicy' in options ? 'one' : 'two';
    await server.call(path, { method: 'POST', body: { metadata: { name } } });
    const { metadata } = (await remove(name, options)).json();
    expect([metadata.deletionTimestamp === undefined, metadata.finalizers]).toEqual([false, undefined]);
  },
);

it('reports a failed precondition of a namespace with its actual value', async () => {
  await server.call(path, { method: 'POST', body: { metadata: { name: 'meant' } } });
  const { uid } = (await server.call(`${path}/meant`)).json().metadata;
  const refused = await remove('meant', { preconditions: { uid: 'other' } });
  expect([refused.code, refused.json().message]).toEqual([
    409,
    `Operation cannot be fulfilled on namespaces "meant": Precondition failed: UID in precondition: other, UID in object meta: ${uid}`,
  ]);
});
