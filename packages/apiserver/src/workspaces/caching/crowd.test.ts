import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../../testing/harness.ts';
import { flavor, flavors, Publishing } from './testing.ts';

let server: TestServer;
let publishing: Publishing;
/** So many that showing one large object to all of them exceeds the limit. */
const crowd = Array.from({ length: 80 }, (_, index) => `crowd-${index}`);
const original = (rest = ''): string => `/clusters/provider${flavors}${rest}`;
const everywhere = `/services/replication/provider/flavors/clusters/*${flavors}`;

beforeAll(async () => {
  server = await startTestServer();
  publishing = new Publishing(server);
  await createWorkspace(server, 'provider');
  await publishing.publish('provider');
  await vi.waitFor(async () => expect((await server.call(original())).code).toBe(200));
  for (const id of crowd) {
    await createWorkspace(server, id);
    await publishing.bind(id, 'provider');
  }
  for (const name of ['a', 'b', 'c']) await publishing.put(original(), flavor(name));
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

test('pages are as long as requested, but include all consumers of an object', async () => {
  const names: string[] = [];
  let token: string | undefined = '';
  for (let pages = 0; token !== undefined; pages++) {
    const { items, metadata } = (await server.call(`${everywhere}?limit=100${token && `&continue=${token}`}`)).json() as {
      items?: { metadata: { name: string } }[];
      metadata: { continue?: string };
    };
    expect([pages, items!.length]).toEqual([pages, crowd.length]);
    names.push(...new Set(items!.map((one) => one.metadata.name)));
    token = metadata.continue || undefined;
  }
  expect(names).toEqual(['a', 'b', 'c']);
});

test('a response over the limit is rejected, and the server keeps working', async () => {
  const notes = 'x'.repeat(900_000);
  const { resourceVersion } = (await server.call(original())).json().metadata;
  const watching = server.watchUntil(`${everywhere}?watch=1&resourceVersion=${resourceVersion}`, ({ type }) => type === 'ERROR');
  await publishing.put(original(), { ...flavor('large'), spec: { notes } });
  expect((await watching).at(-1)!.object).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
  const refused = await server.call(everywhere);
  expect([refused.code, refused.json().message]).toEqual([
    413,
    'Request entity too large: 4 objects in 80 workspaces are too much to be shown at once: ask for one workspace, or for fewer objects (limit)',
  ]);
  expect((await server.call(`/clusters/crowd-7${flavors}/large`)).json()['spec']).toMatchObject({ notes });
  await server.call(original('/large'), { method: 'DELETE' });
  expect((await server.call(everywhere)).json().items).toHaveLength(3 * crowd.length);
});
