import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ tokens: 'secret,mallory,1\n' });
  await createWorkspace(server, 'aaaa');
});
afterAll(() => server[Symbol.asyncDispose]());

test.each(['/api/v1/namespaces', '/api/v1/namespaces/a/secrets/b', '/', '/openapi/v2', '/apis/foo/v1/bars', '/api/v1/pods?watch=true'])(
  'users without access cannot tell from %s whether a workspace exists',
  async (path) => {
    const seen = async (cluster: string): Promise<unknown> => {
      const { code, headers, text } = await server.call(`/clusters/${cluster}${path}`, {
        anonymous: true,
        headers: { authorization: 'Bearer secret' },
      });
      const { 'audit-id': _id, date: _date, ...told } = headers;
      return { code, told, text };
    };
    const there = await seen('aaaa');
    expect(there).toMatchObject({ code: 403 });
    expect(await seen('bbbb')).toEqual(there);
  },
);
