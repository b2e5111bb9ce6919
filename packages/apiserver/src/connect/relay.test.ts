import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type AnsweringTunnel, answerTunnel, openTunnel, type Tunnel } from '@capstan/streams';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { answerRelay } from '../tunnels/relayed.ts';
import { readStart, tunnelRefusal } from './relay.ts';

const forever = new AbortController().signal;
const refusal = { kind: 'Status', message: 'no such container', reason: 'NotFound', padding: 'x'.repeat(40_000) };
const body = Buffer.from(JSON.stringify(refusal));

/** The ways in which a node may send the body of an error. */
const ways: Record<string, (stream: Duplex) => void | Promise<void>> = {
  'at once': (stream) => void stream.end(body),
  'and closes the stream at once': (stream) => void stream.end(body, () => stream.destroy()),
  'without end': (stream) => {
    stream.on('error', () => {});
    stream.write(Buffer.alloc(200_000));
  },
  'in parts': async (stream) => {
    for (let at = 0; at < body.length; at += 16_000) {
      stream.write(body.subarray(at, at + 16_000));
      await sleep(1);
    }
    stream.end(() => stream.destroy());
  },
};

const noArtifacts = { list: () => Promise.resolve([]), open: () => Promise.resolve(undefined), remove: () => Promise.resolve(false) };

let server: Tunnel;
let agent: AnsweringTunnel;

async function sockets(): Promise<[Socket, Socket]> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const dialled = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  const [accepted] = (await once(listener, 'connection')) as [Socket];
  listener.close();
  return [dialled, accepted];
}

beforeEach(async () => {
  const [dialled, accepted] = await sockets();
  agent = await answerTunnel(dialled, {
    handle: (request) => ways[decodeURIComponent(request.path.slice(1))]!(request.respond(404)),
  });
  server = await openTunnel(accepted);
});
afterEach(async () => {
  server.destroy();
  agent.destroy();
  await Promise.all([server.closed, agent.closed]);
});

describe('the error of a node arrives whole', () => {
  const cases = Object.keys(ways)
    .filter((way) => way !== 'without end')
    .flatMap((way) => ['GET', 'POST'].map((method) => [method, way] as const));
  test.each(cases)('%s, sent %s', async (method, way) => {
    for (let round = 0; round < 20; round++) {
      const response = await server.request({ method, path: `/${encodeURIComponent(way)}`, signal: forever });
      // As after a request: the body may have arrived long before somebody reads it.
      response.stream.pause();
      if (round % 2 === 0) await sleep(1);
      else await setImmediate();
      const { code, status } = await tunnelRefusal(response, 'n1');
      expect([code, status.message, status.reason]).toEqual([404, refusal.message, refusal.reason]);
    }
  });

  test.each(cases)('%s, sent %s, through another server', async (method, way) => {
    const [dialled, accepted] = await sockets();
    const stores = { storedLog: () => Promise.resolve(undefined), artifacts: noArtifacts, audit: { page: () => Promise.reject() } };
    await answerRelay(dialled, { here: () => server }, stores);
    const relay = await openTunnel(accepted);
    for (let round = 0; round < 20; round++) {
      const response = await relay.request({ method, path: `/nodes/n1/${encodeURIComponent(way)}`, signal: forever });
      response.stream.pause();
      await setImmediate();
      expect(await tunnelRefusal(response, 'n1')).toMatchObject({ code: 404, status: { message: refusal.message } });
    }
    relay.destroy();
    await relay.closed;
  });

  test('up to a limit, beyond which it is not read', async () => {
    const { stream } = await server.request({ method: 'GET', path: '/without%20end', signal: forever });
    expect((await readStart(stream)).length).toBe(64 << 10);
    expect(stream.destroyed).toBe(true);
  });
});
