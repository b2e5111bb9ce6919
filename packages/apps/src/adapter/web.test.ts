import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type App, appKind, newObject } from '@capstan/api';
import type { Client } from '@capstan/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pair } from '../testing/pair.ts';
import { AdapterProblem } from './contract.ts';
import { AdapterUnavailable, adapterFinder } from './finding.ts';
import { webAdapters } from './web.ts';

let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (part: string) => (body += part));
  request.on('end', () => answer(request, response, body));
});
let url = '';

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/adapter/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** The Secret of the adapter. */
const platform = {
  resource: () => ({
    in: () => ({
      get: async (name: string) => (name === 'good' ? { data: { token: Buffer.from('hunter2\n').toString('base64') } } : { data: {} }),
    }),
  }),
} as unknown as Client;

function ask(adapter: object = {}, address = url) {
  const [entry] = pair.apps();
  const app = { ...newObject(appKind, entry!), spec: { ...entry!.spec, adapter: { url: address, ...adapter } } } as App;
  const web = webAdapters(platform, { timeout: 300, mostBytes: 10_000 });
  return adapterFinder([], web)(app).members({ instance: { id: 'i' }, allocations: [] } as never);
}

const json =
  (value: unknown, code = 200) =>
  (_: IncomingMessage, response: ServerResponse) =>
    response.writeHead(code).end(JSON.stringify(value));

describe('an adapter that is a web service', () => {
  test('gets questions as JSON, with its token', async () => {
    let seen: object = {};
    answer = (request, response, body) => {
      seen = { path: request.url, method: request.method, authorization: request.headers.authorization, body: JSON.parse(body) };
      response.end('{"members":[{"component":"leader","allocation":"a"}]}');
    };
    expect(await ask({ secretName: 'good' })).toEqual({ members: [{ component: 'leader', allocation: 'a' }] });
    expect(seen).toEqual({
      path: '/adapter/members',
      method: 'POST',
      authorization: 'Bearer hunter2',
      body: { instance: { id: 'i' }, allocations: [] },
    });
  });

  test('says why a wish cannot be fulfilled', async () => {
    answer = json({ code: 'NoQuorum', message: 'three servers are needed' }, 422);
    await expect(ask()).rejects.toMatchObject({ code: 'NoQuorum', message: 'three servers are needed', userFixable: true });
  });

  test.each<[string, typeof answer, string]>([
    ['wrong types', json({ members: 'all' }), "the adapter's answer to members is wrong: members: Invalid value"],
    ['a missing field', json({}), "the adapter's answer to members is wrong: members: Required value"],
    ['a list', json([]), "the adapter's answer to members is wrong"],
    ['no JSON', (_, response) => response.end('<html>'), 'answered members with something that is no JSON'],
    ['too much', (_, response) => response.end(`"${'x'.repeat(20_000)}"`), 'answered members with more than 10000 bytes'],
  ])('is refused for %s', async (_what, how, message) => {
    answer = how;
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AdapterProblem);
    expect(error).not.toBeInstanceOf(AdapterUnavailable);
    expect((error as Error).message).toContain(message);
  });

  test.each<[string, typeof answer, string]>([
    ['is slow', () => {}, 'did not answer members within 0.3 s'],
    ['answers drop by drop', (_, response) => void response.write('{'), 'did not answer members within 0.3 s'],
    ['fails', json({}, 500), 'answered members with the status 500'],
    ['ends the connection', (request) => request.socket.destroy(), 'cannot be reached'],
  ])('is asked again if it %s', async (_what, how, message) => {
    answer = how;
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AdapterUnavailable);
    expect((error as Error).message).toContain(message);
  });

  test('without its Secret is not asked at all', async () => {
    answer = json({ members: [] });
    await expect(ask({ secretName: 'bad' })).rejects.toThrow('which has no key token in the namespace apps');
  });
});
