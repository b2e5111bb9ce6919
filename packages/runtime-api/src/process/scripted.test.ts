import { connect, type Socket } from 'node:net';
import { restPath } from '@capstan/api';
import type { Outgoing, Received, Transport } from '@capstan/client';
import { Metrics } from '@capstan/machinery';
import { UpstreamHealth } from '@capstan/serving';
import { describe, expect, test } from 'vitest';
import { startRestServer } from './server.ts';

type Script = (outgoing: Outgoing) => Received;

/** An API server that answers as a script says. */
async function startScripted(script: Script, patience = 200) {
  const transport: Transport = { send: (outgoing) => Promise.resolve(script(outgoing)), [Symbol.dispose]: () => {} };
  const metrics = new Metrics();
  const server = await startRestServer({
    host: '127.0.0.1',
    port: 0,
    transport,
    health: new UpstreamHealth(transport),
    metrics,
    log: () => {},
    limits: { streams: { perUser: 5, overall: 5, heartbeat: 10_000, patience } },
  });
  return {
    ...server,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    metrics,
    url: `http://127.0.0.1:${server.port}/clusters/root${restPath}`,
  };
}

function received(code: number, chunks: Iterable<string>): Received & { readonly isDestroyed: () => boolean } {
  let destroyed = false;
  return {
    code,
    header: () => undefined,
    async read(_, onText) {
      for (const chunk of chunks) {
        if (destroyed) throw new Error('destroyed');
        await onText(chunk);
      }
    },
    readBytes: () => Promise.reject(new Error('only text is expected')),
    destroy: () => {
      destroyed = true;
    },
    isDestroyed: () => destroyed,
  };
}

const headers = { authorization: 'Bearer t', accept: 'text/event-stream' };
const tooOld = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410, message: 'too old resource version' };

describe('events from a place that is too old', () => {
  test.each<[string, () => Received]>([
    ['at once', () => received(410, [JSON.stringify(tooOld)])],
    ['later', () => received(200, [`${JSON.stringify({ type: 'ERROR', object: tooOld })}\n`])],
  ])('are reset, if the API server says so %s', async (_, answer) => {
    await using server = await startScripted(answer);
    const response = await fetch(`${server.url}/gpu-units`, { headers: { ...headers, 'last-event-id': '7' } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(await response.text()).toMatch(/event: reset\nid\n/);
  });
});

test('events that break off tell their readers why', async () => {
  const broken = { ...received(200, []), read: () => Promise.reject(new Error('broken')) };
  await using server = await startScripted(() => broken);
  const response = await fetch(`${server.url}/gpu-units`, { headers });
  expect(await response.text()).toContain('event: error\ndata: {"type":"https://capstan.dev/problems/internal"');
});

describe('clients that want a lot', () => {
  const item = { metadata: { name: 'u', resourceVersion: '5' }, spec: { args: ['x'.repeat(100_000)] } };
  const list = JSON.stringify({ kind: 'List', metadata: { resourceVersion: '5' }, items: Array.from({ length: 100 }, () => item) });
  const pieces = Array.from({ length: Math.ceil(list.length / 65_536) }, (_, index) => list.slice(index * 65_536, (index + 1) * 65_536));
  const dial = (port: number): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.pause().on('error', () => {});
    socket.write(`GET /clusters/root${restPath}/gpu-units HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer mallory\r\n\r\n`);
    return socket;
  };

  test('and do not read cannot fill the memory, and are closed', async () => {
    // Longer than a busy machine keeps a client from reading.
    await using server = await startScripted(() => received(200, pieces), 2_000);
    const sockets = Array.from({ length: 30 }, () => dial(server.port));
    const held = (): number => Number(/^capstan_rest_held_bytes (\d+)/m.exec(server.metrics.text())?.[1]);
    await expect.poll(held).toBeGreaterThan(10_000_000);
    expect(held()).toBeLessThanOrEqual(64 << 20);
    const other = await fetch(`${server.url}/gpu-units`, { headers: { authorization: 'Bearer alice' } });
    expect(other.status).toBe(200);
    await other.arrayBuffer();
    await expect.poll(held, { timeout: 10_000 }).toBe(0);
    for (const socket of sockets) socket.destroy();
  });
});

describe('a reader that does not read', () => {
  const line = `${JSON.stringify({ type: 'MODIFIED', object: { metadata: { name: 'u', resourceVersion: '5' }, spec: { args: ['x'.repeat(100_000)] } } })}\n`;

  test('is closed, and little is kept for it', async () => {
    let sent = 0;
    function* endless(): Generator<string> {
      for (; sent < 10_000; sent++) yield line;
    }
    const answer = received(200, endless());
    await using server = await startScripted(() => answer);
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    socket.pause();
    socket.write(
      `GET /clusters/root${restPath}/gpu-units HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nAccept: text/event-stream\r\n\r\n`,
    );
    await expect.poll(() => answer.isDestroyed()).toBe(true);
    // The buffers of the kernel take some megabytes.
    expect(sent).toBeLessThan(300);
    await expect.poll(() => server.metrics.text()).toContain('capstan_rest_streams 0');
    socket.destroy();
  });
});

test('an answer that is not JSON is a problem of this server, which tells nothing about it', async () => {
  await using server = await startScripted(() => received(200, ['<html>secret</html>']));
  const response = await fetch(`${server.url}/gpu-units/x`, { headers: { authorization: 'Bearer t' } });
  const text = await response.text();
  expect([response.status, (JSON.parse(text) as { code: string }).code]).toEqual([500, 'internal']);
  expect(text).not.toContain('secret');
});

test('only the token, the format and the body are passed on', async () => {
  const seen: Outgoing[] = [];
  await using server = await startScripted((outgoing) => {
    seen.push(outgoing);
    return received(404, []);
  });
  const more = { 'impersonate-user': 'admin', 'x-remote-user': 'admin', cookie: 'a=b', 'x-forwarded-for': '1.2.3.4' };
  await fetch(`${server.url}/gpu-units/x`, { headers: { ...headers, ...more, accept: '*/*' } });
  expect(seen.map((one) => one.headers)).toEqual([{ authorization: 'Bearer t', accept: 'application/json' }]);
});
