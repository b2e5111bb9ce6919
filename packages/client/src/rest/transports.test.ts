import { describe, expect, test } from 'vitest';
import { FetchTransport } from '../fetch/fetch-transport.ts';
import { HttpTransport } from '../http/http-transport.ts';
import type { Connection } from '../kubeconfig/connection.ts';
import { scriptedServer } from '../testing/scripted-server.ts';
import { isNotFound } from './error.ts';
import { RestClient } from './rest-client.ts';
import type { Timeouts, Transport } from './transport.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ä', namespace: 'default' } };
const event = (name: string): string => `${JSON.stringify({ type: 'ADDED', object: { ...object, metadata: { name } } })}\n`;

interface Made {
  readonly transport: (connection: Connection, timeouts?: Partial<Timeouts>) => Transport;
}

/** The behaviour of every transport, in Node and in browsers. */
describe.each<[string, Made]>([
  ["Node's HTTP client", { transport: (connection, timeouts) => new HttpTransport(connection, { timeouts }) }],
  ['fetch', { transport: ({ server }, timeouts) => new FetchTransport(server, { ...(timeouts && { timeouts }) }) }],
])('%s', (_name, { transport }) => {
  const clientOf = (connection: Connection, timeouts?: Partial<Timeouts>): RestClient =>
    new RestClient(connection, { transport: transport(connection, timeouts), ...(timeouts && { timeouts }), retry: { attempts: 1 } });

  test('reads, writes and reports errors with their Status', async () => {
    await using server = await scriptedServer((request, response) => {
      if (request.url!.endsWith('/missing')) {
        response.writeHead(404).end(JSON.stringify({ kind: 'Status', reason: 'NotFound', code: 404, message: 'none' }));
      } else response.end(JSON.stringify(object));
    });
    using client = clientOf({ ...server.connection, server: `${server.connection.server}/clusters/root:org` });
    const maps = client.resource(configMaps).in('default');
    expect(await maps.get('ä')).toEqual(object);
    expect(await maps.create(object)).toEqual(object);
    await expect(maps.get('missing')).rejects.toSatisfy(isNotFound);
    expect(server.requests[1]).toBe('POST /clusters/root:org/api/v1/namespaces/default/configmaps');
    expect(server.headers[1]).toMatchObject({ 'content-type': 'application/json' });
  });

  test('delivers the events of a watch as they arrive, and ends with the server', async () => {
    await using server = await scriptedServer((_request, response) => {
      const [first, second] = [event('a'), event('b')];
      response.write(first + second.slice(0, 10));
      setTimeout(() => response.end(second.slice(10)), 5);
    });
    using client = clientOf(server.connection);
    const names: (string | undefined)[] = [];
    for await (const { object: seen } of client.resource(configMaps).watch()) names.push(seen.metadata.name);
    expect(names).toEqual(['a', 'b']);
  });

  test('reads a body that is not text', async () => {
    const bytes = Buffer.from([0, 255, 254, 10, 195]);
    await using server = await scriptedServer((_request, response) => void response.end(bytes));
    using client = clientOf(server.connection);
    const answer = await client.send({ method: 'GET', path: '/' });
    const parts: Uint8Array[] = [];
    await answer.readBytes(1_000, (part) => void parts.push(part));
    expect(Buffer.concat(parts)).toEqual(bytes);
  });

  test('ends a watch whose reader leaves', async () => {
    let isClosed: (value: true) => void;
    const closed = new Promise<true>((resolve) => (isClosed = resolve));
    await using server = await scriptedServer((_request, response) => {
      response.on('close', () => isClosed(true));
      response.write(event('a'));
    });
    using client = clientOf(server.connection);
    for await (const _ of client.resource(configMaps).watch()) break;
    expect(await closed).toBe(true);
  });

  test.each([
    ['is silent', 'idle-timeout', (): void => {}],
    ['is truncated', 'failed', (end: () => void): void => end()],
  ] as const)('fails if a response %s', async (_what, fault, then) => {
    await using server = await scriptedServer((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"kind":');
      setTimeout(() => then(() => response.destroy()), 5);
    });
    using client = clientOf(server.connection, { idle: 50 });
    await expect(client.resource(configMaps).in('default').get('a')).rejects.toMatchObject({ name: 'ConnectionError', fault });
  });

  test('fails if no response arrives, and stops when it is told to', async () => {
    await using server = await scriptedServer(() => {});
    using client = clientOf(server.connection, { connect: 20, response: 20 });
    await expect(client.resource(configMaps).in('default').get('a')).rejects.toMatchObject({ fault: 'response-timeout' });
    const signal = AbortSignal.timeout(1);
    await expect(client.resource(configMaps).in('default').get('a', { signal })).rejects.toThrow();
  });
});
