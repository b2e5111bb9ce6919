import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

const path = '/apis/apps/v1/namespaces/default/deployments';
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { volumes: [{ name: 'v', emptyDir: {} }], containers: [{ name: 'c', image: '<i>', env: [{ name: 'E' }], envFrom: [] }] },
  };
  const selector = { matchLabels: { a: 'b' } };
  await server.call(path, { method: 'POST', body: { metadata: { name: 'd' }, spec: { minReadySeconds: 1, template, selector } } });
});

afterAll(() => server[Symbol.asyncDispose]());

const patch = async (kind: string, body: unknown): Promise<string> => {
  const headers = { 'content-type': `application/${kind}+json` };
  const reply = await server.call(`${path}/d?dryRun=All`, { method: 'PATCH', headers, body });
  return reply.json().message ?? `${reply.code}`;
};

/** The object in the message, as text. */
const shownIn = (message: string): string => JSON.parse(/Invalid value: ("(?:[^"\\]|\\.)*")/.exec(message)![1]!) as string;
const keysIn = (text: string, at: string): string[] => Object.keys((JSON.parse(text) as Record<string, object>)[at]!);

it('shows the parts that a patch did not reach in the field order of their type', async () => {
  const shown = shownIn(await patch('merge-patch', { metadata: { labels: 5 } }));
  expect(keysIn(shown, 'spec').slice(0, 4)).toEqual(['replicas', 'selector', 'template', 'strategy']);
  expect(shown).toContain('"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"\\u003ci\\u003e"');
});

it('shows the parts that a patch reached with sorted keys, and the patched values', async () => {
  const shown = shownIn(await patch('merge-patch', { metadata: { labels: 5 } }));
  const keys = keysIn(shown, 'metadata');
  expect(keys).toEqual([...keys].sort());
  expect(shown).toContain('"labels":5');
  const added = shownIn(await patch('json-patch', [{ op: 'add', path: '/spec/paused', value: { z: 1, a: 2 } }]));
  expect(added).toContain('"paused":{"z":1,"a":2}');
  expect(keysIn(added, 'spec')).toEqual([...keysIn(added, 'spec')].sort());
  expect(keysIn(added, 'metadata').slice(0, 2)).toEqual(['name', 'namespace']);
});

it.each<[unknown, string]>([
  [{ metadata: { labels: { a: 5 } } }, 'map[metadata:map[labels:map[a:5]]]": cannot convert int64 to string'],
  [{ metadata: { labels: 5 } }, 'map[metadata:map[labels:5]]": cannot restore map from int64'],
  [{ metadata: { finalizers: 'x' } }, 'map[metadata:map[finalizers:x]]": cannot restore slice from string'],
  [{ spec: { replicas: 1.5 } }, 'map[spec:map[replicas:1.5]]": cannot convert float64 to int32'],
  [{ spec: { paused: 'x' } }, 'map[spec:map[paused:x]]": unrecognized type: bool'],
  [
    { metadata: { creationTimestamp: 5 } },
    'map[metadata:map[creationTimestamp:5]]": json: cannot unmarshal number into Go value of type string',
  ],
])('shows only the patch for strategic patches: %j', async (body, end) => {
  expect(await patch('strategic-merge-patch', body)).toBe(` "" is invalid: patch: Invalid value: "${end}`);
});

it('accepts a strategic patch of another kind as a change of the kind field', async () => {
  expect(await patch('strategic-merge-patch', { kind: 'Other', apiVersion: 'v2' })).toBe('200');
});
