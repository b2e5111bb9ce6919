import type { ServerResponse } from 'node:http';
import { expect, test, vi } from 'vitest';
import { Client } from '../http/client.ts';
import { scriptedServer } from '../testing/scripted-server.ts';
import { Informer } from './informer.ts';

const things = { group: 'example.com', version: 'v1', resource: 'things', namespaced: true };
const thing = (name: string, resourceVersion: string, uid = name) => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name, namespace: 'n', uid, resourceVersion },
});
const line = (response: ServerResponse, type: string, object: unknown): boolean => response.write(`${JSON.stringify({ type, object })}\n`);
const end = (resourceVersion: string) => ({
  kind: 'Thing',
  metadata: { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } },
});
const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };

interface Follow {
  readonly informer: Informer;
  readonly seen: string[];
  readonly signal: AbortSignal;
}

async function following(
  client: Client,
  body: (follow: Follow) => Promise<void>,
  more: { initialTimeout?: number; pageSize?: number; onError?: () => void; onRecovered?: () => void } = {},
) {
  const stop = new AbortController();
  const informer = new Informer({ resource: client.resource(things), random: () => 0, ...more });
  const seen: string[] = [];
  informer.onChange((change) => {
    seen.push(`${change.type} ${change.object.metadata.name}${change.type === 'deleted' && change.assumed ? ' (assumed)' : ''}`);
  });
  const running = informer.start(stop.signal);
  try {
    await body({ informer, seen, signal: stop.signal });
  } finally {
    stop.abort();
    await running;
  }
}

test('relists after lost history, and reports objects that vanished in between as deleted', async () => {
  await using server = await scriptedServer((request, response, count) => {
    response.writeHead(200);
    if (count === 1) {
      line(response, 'ADDED', thing('kept', '1'));
      line(response, 'ADDED', thing('gone', '2'));
      line(response, 'ADDED', thing('reborn', '3', 'first'));
      line(response, 'BOOKMARK', end('5'));
      response.end();
    } else if (request.url?.includes('resourceVersion=5')) {
      line(response, 'ERROR', gone);
      response.end();
    } else {
      line(response, 'ADDED', thing('kept', '1'));
      line(response, 'ADDED', thing('reborn', '8', 'second'));
      line(response, 'BOOKMARK', end('9'));
    }
  });
  using client = new Client(server.connection);
  await following(client, async ({ seen, informer }) => {
    await vi.waitFor(() => expect(informer.revision).toBe('9'), 10_000);
    expect(seen).toEqual([
      'added kept',
      'added gone',
      'added reborn',
      'deleted gone (assumed)',
      'deleted reborn (assumed)',
      'added reborn',
    ]);
  });
});

test('continues a watch where the last one ended, also after a mere bookmark', async () => {
  await using server = await scriptedServer((request, response, count) => {
    response.writeHead(200);
    if (count === 1) {
      line(response, 'BOOKMARK', end('5'));
      line(response, 'ADDED', thing('a', '6'));
      response.end();
    } else if (count === 2) {
      line(response, 'BOOKMARK', { kind: 'Thing', metadata: { resourceVersion: '20' } });
      response.end();
    } else if (request.url?.includes('resourceVersion=20')) line(response, 'ADDED', thing('b', '21'));
  });
  using client = new Client(server.connection);
  await following(client, async ({ seen }) => {
    await vi.waitFor(() => expect(seen).toEqual(['added a', 'added b']), 10_000);
  });
  expect(server.requests[1]).toContain('resourceVersion=6');
  expect(server.requests).toHaveLength(3);
});

const pagesThenWatch = (response: ServerResponse, url: string): void => {
  response.writeHead(200);
  if (url.includes('watch=true')) line(response, 'ADDED', thing('c', '8'));
  else if (url.includes('continue=')) {
    response.end(
      JSON.stringify({
        kind: 'ThingList',
        apiVersion: 'example.com/v1',
        metadata: { resourceVersion: '7' },
        items: [{ metadata: thing('b', '2').metadata }],
      }),
    );
  } else {
    const metadata = { resourceVersion: '7', continue: 'more' };
    response.end(
      JSON.stringify({ kind: 'ThingList', apiVersion: 'example.com/v1', metadata, items: [{ metadata: thing('a', '1').metadata }] }),
    );
  }
};

test('lists in pages if the server rejects streamed lists', async () => {
  await using server = await scriptedServer((request, response) => {
    const url = request.url ?? '';
    if (url.includes('sendInitialEvents')) response.writeHead(422).end(JSON.stringify({ kind: 'Status', code: 422, reason: 'Invalid' }));
    else pagesThenWatch(response, url);
  });
  using client = new Client(server.connection);
  await following(
    client,
    async ({ seen, informer }) => {
      await vi.waitFor(() => expect(seen).toEqual(['added a', 'added b', 'added c']), 10_000);
      expect(informer.get({ namespace: 'n', name: 'a' })).toMatchObject({ kind: 'Thing', apiVersion: 'example.com/v1' });
    },
    { pageSize: 1 },
  );
  expect(server.requests.at(-1)).toContain('resourceVersion=7');
});

test('lists in pages if the server never finishes a streamed list', async () => {
  await using server = await scriptedServer((request, response) => {
    const url = request.url ?? '';
    if (url.includes('sendInitialEvents')) {
      response.writeHead(200);
      line(response, 'ADDED', thing('a', '1'));
    } else pagesThenWatch(response, url);
  });
  using client = new Client(server.connection);
  await following(
    client,
    async ({ seen }) => {
      await vi.waitFor(() => expect(seen).toEqual(['added a', 'added b', 'added c']), 10_000);
    },
    { initialTimeout: 100 },
  );
});

test('follows a server whose data was restored from an older copy', async () => {
  const ahead = { kind: 'Status', code: 504, reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } };
  await using server = await scriptedServer((_request, response, count) => {
    if (count === 2) {
      response.writeHead(504).end(JSON.stringify(ahead));
      return;
    }
    response.writeHead(200);
    line(response, 'ADDED', count === 1 ? thing('lost', '900') : thing('restored', '3'));
    line(response, 'BOOKMARK', end(count === 1 ? '900' : '4'));
    if (count === 1) response.end();
  });
  using client = new Client(server.connection);
  await following(client, async ({ seen }) => {
    await vi.waitFor(() => expect(seen).toEqual(['added lost', 'deleted lost (assumed)', 'added restored']), 10_000);
  });
});

test('distinguishes objects of the same name in different workspaces', async () => {
  const inCluster = (cluster: string) => {
    const object = thing('same', '1', cluster);
    return { ...object, metadata: { ...object.metadata, annotations: { 'kcp.io/cluster': cluster } } };
  };
  await using server = await scriptedServer((_request, response) => {
    response.writeHead(200);
    line(response, 'ADDED', inCluster('one'));
    line(response, 'ADDED', inCluster('two'));
    line(response, 'BOOKMARK', end('2'));
  });
  using client = new Client({ ...server.connection, server: `${server.connection.server}/clusters/*` });
  await following(client, async ({ informer }) => {
    await informer.synced();
    expect(informer.size).toBe(2);
    expect(informer.get({ cluster: 'two', namespace: 'n', name: 'same' })?.metadata.uid).toBe('two');
  });
});

test('reports recovery after failures, and only then', async () => {
  await using server = await scriptedServer((_, response, count) => {
    response.writeHead(count === 2 || count === 3 ? 403 : 200);
    if (count === 1) line(response, 'BOOKMARK', end('5'));
    if (count < 4) response.end();
    else line(response, 'ADDED', thing('new', '6'));
  });
  using client = new Client(server.connection);
  const told: string[] = [];
  await following(
    client,
    async ({ seen }) => {
      await vi.waitFor(() => expect(seen).toEqual(['added new']), 10_000);
    },
    { onError: () => told.push('failed'), onRecovered: () => told.push('recovered') },
  );
  expect(told).toEqual(['failed', 'failed', 'recovered']);
});
