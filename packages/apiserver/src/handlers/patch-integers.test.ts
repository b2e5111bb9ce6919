import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const path = '/apis/apps/v1/namespaces/default/deployments';

beforeAll(async () => {
  server = await startTestServer();
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await server.call(path, { method: 'POST', body: { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } } });
});
afterAll(() => server[Symbol.asyncDispose]());

const patch = (kind: string, spec: object): Promise<Reply> =>
  server.call(`${path}/d?dryRun=All&fieldManager=test&force=${kind.startsWith('apply')}`.replace('&force=false', ''), {
    method: 'PATCH',
    headers: { 'content-type': `application/${kind}` },
    body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec },
  });

it.each(['strategic-merge-patch+json', 'apply-patch+yaml'])('a %s truncates integers that are too large', async (kind) => {
  expect((await patch(kind, { minReadySeconds: 4_294_967_299 })).json()['spec']).toMatchObject({ minReadySeconds: 3 });
});

it('other patches with such integers are rejected', async () => {
  expect((await patch('merge-patch+json', { minReadySeconds: 4_294_967_299 })).code).toBe(422);
});

it.each([
  ['strategic-merge-patch+json', 422],
  ['apply-patch+yaml', 500],
])('a %s with a fraction for an integer is rejected', async (kind, code) => {
  const refused = await patch(kind, { minReadySeconds: 1.5 });
  expect([refused.code, refused.json().message]).toEqual([code, expect.stringContaining('cannot convert float64 to int32')]);
});

it('an invalid item key is reported with its path', async () => {
  const template = { spec: { containers: [{ name: {}, image: 'i' }] } };
  expect((await patch('apply-patch+yaml', { template })).json().message).toContain(
    '.spec.template.spec.containers[name=].name: expected string',
  );
});

it('image pull secrets may have no name', async () => {
  const template = { spec: { imagePullSecrets: [{}] } };
  expect((await patch('apply-patch+yaml', { template })).code).toBe(200);
});
