import type { KubeObject } from '@capstan/machinery';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../../testing/harness.ts';
import { flavor, flavors, Publishing } from './testing.ts';

let server: TestServer;
let publishing: Publishing;
let round = 0;

beforeAll(async () => {
  server = await startTestServer();
  publishing = new Publishing(server);
  for (const id of ['provider', 'one', 'two']) await createWorkspace(server, id);
  await publishing.publish('provider', { labelSelector: { matchLabels: { public: 'yes' } } });
  await vi.waitFor(async () => expect((await server.call(`/clusters/provider${flavors}`)).code).toBe(200));
  for (const id of ['one', 'two']) await publishing.bind(id, 'provider');
});
afterAll(() => server[Symbol.asyncDispose]());

interface Step {
  readonly name: string;
  readonly is: 'public' | 'hidden' | 'gone';
  readonly gpus: number;
}

const steps = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    is: fc.constantFrom('public', 'hidden', 'gone'),
    gpus: fc.integer({ min: 1, max: 3 }),
  }) as fc.Arbitrary<Step>,
  { maxLength: 12 },
);

const original = (name = ''): string => `/clusters/provider${flavors}${name && `/${name}`}`;
const everywhere = `/services/apiexport/provider/catalog/clusters/*${flavors}`;
const list = async (path: string): Promise<{ items: KubeObject[]; resourceVersion: string }> => {
  const { items, metadata } = (await server.call(path)).json();
  return { items: items!, resourceVersion: metadata.resourceVersion! };
};

/** Changes one object as its provider. */
async function take({ name, is, gpus }: Step): Promise<void> {
  const found = await server.call(original(name));
  if (is === 'gone') return void (await server.call(original(name), { method: 'DELETE' }));
  const labels: Record<string, string> = is === 'public' ? { public: 'yes' } : {};
  const wanted = { ...flavor(name, labels), spec: { gpus } };
  if (found.code === 404) await publishing.put(original(), wanted);
  else await publishing.put(original(name), { ...wanted, metadata: { ...found.json().metadata, labels } }, 'PUT');
}

/** The object as `cluster` should see it. */
const moved = (object: KubeObject, cluster: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { 'kcp.io/cluster': cluster } },
});
const placeOf = ({ metadata }: KubeObject): string => `${metadata.annotations!['kcp.io/cluster']}/${metadata.name}`;

test('whatever a provider does, lists and watches in every workspace show exactly the published objects', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const before = await list(everywhere);
      const last = `last-${round++}`;
      const watching = server.watchUntil(
        `${everywhere}?watch=1&resourceVersion=${before.resourceVersion}`,
        ({ object }) => placeOf(object) === `two/${last}`,
      );
      for (const step of taken) await take(step);
      await take({ name: last, is: 'public', gpus: 1 });
      const state = new Map(before.items.map((object) => [placeOf(object), object]));
      for (const { type, object } of await watching) {
        expect([type, state.has(placeOf(object))]).toEqual([type, type !== 'ADDED']);
        if (type === 'DELETED') state.delete(placeOf(object));
        else state.set(placeOf(object), object);
      }
      const published = (await list(original())).items.filter(({ metadata }) => metadata.labels?.['public'] === 'yes');
      for (const cluster of ['one', 'two']) {
        const expected = published.map((object) => moved(object, cluster));
        expect((await list(`/clusters/${cluster}${flavors}`)).items).toEqual(expected);
        expect([...state.values()].filter((object) => placeOf(object).startsWith(`${cluster}/`)).sort(byName)).toEqual(expected);
      }
      await take({ name: last, is: 'gone', gpus: 1 });
    }),
    { numRuns: 15 },
  );
});

function byName(one: KubeObject, other: KubeObject): number {
  return one.metadata.name! < other.metadata.name! ? -1 : 1;
}
