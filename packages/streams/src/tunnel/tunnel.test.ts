import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type AnsweringTunnel, answerTunnel, type TunnelHandler } from './answering.ts';
import { TunnelKeeper } from './keeper.ts';
import type { TunnelLimits } from './protocol.ts';
import { openTunnel, type Tunnel } from './requesting.ts';
import { type TestEndpoint, testEndpoint } from './testing.ts';

const forever = new AbortController().signal;
let endpoint: TestEndpoint;
beforeEach(async () => {
  endpoint = await testEndpoint();
});
afterEach(() => endpoint[Symbol.asyncDispose]());

interface Pair extends AsyncDisposable {
  readonly server: Tunnel;
  readonly agent: AnsweringTunnel;
}

async function pair(handle: TunnelHandler, limits: Partial<TunnelLimits> = {}, ofAgent = limits): Promise<Pair> {
  const [dialled, accepted] = await Promise.all([endpoint.dial(), endpoint.next()]);
  const server = await openTunnel(accepted, { grace: 50, ...limits });
  const agent = await answerTunnel(dialled, { handle, grace: 50, ...ofAgent });
  return {
    server,
    agent,
    async [Symbol.asyncDispose]() {
      server.destroy();
      agent.destroy();
      await Promise.all([server.closed, agent.closed]);
    },
  };
}

const echo: TunnelHandler = (request) => {
  const stream = request.respond(200, { 'x-path': request.path, 'x-user': request.headers['capstan-user'] ?? '' });
  stream.pipe(stream);
};

/** Resolves when the condition holds; the test's own timeout bounds it. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a tunnel', () => {
  test('carries requests from the server to the agent, with headers and bodies in both directions', async () => {
    await using both = await pair(echo);
    const { status, headers, stream } = await both.server.request({
      method: 'POST',
      path: '/exec/a/b?command=sh',
      headers: { 'capstan-user': 'ada', connection: 'close' },
      signal: forever,
    });
    expect([status, headers['x-path'], headers['x-user']]).toEqual([200, '/exec/a/b?command=sh', 'ada']);
    stream.end('hello');
    expect(await text(stream)).toBe('hello');
    await until(() => both.server.openStreams === 0 && both.agent.openStreams === 0);
  });

  test('carries many streams at once, each in its own order', async () => {
    await using both = await pair(echo);
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const { stream } = await both.server.request({ method: 'POST', path: '/', signal: forever });
        for (let part = 0; part < 20; part++) stream.write(`${index}.${part} `);
        stream.end();
        return text(stream);
      }),
    );
    expect(answers[7]).toBe(Array.from({ length: 20 }, (_, part) => `7.${part} `).join(''));
    expect(new Set(answers).size).toBe(50);
  });

  test('stops a writer whose reader stops, and does not slow down other streams', async () => {
    const streamWindow = 64 << 10;
    let written = 0;
    await using both = await pair(
      async (request) => {
        const stream = request.respond(200);
        if (request.path !== '/flood') return void stream.end('quick');
        const chunk = Buffer.alloc(16 << 10);
        while (!request.signal.aborted) {
          written += chunk.length;
          if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
        }
      },
      { streamWindow },
    );
    const { stream } = await both.server.request({ method: 'GET', path: '/flood', signal: forever });
    await once(stream, 'readable');
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // The windows, and what both ends hold in their own buffers.
    expect(written).toBeLessThan(1 << 20);
    const other = await both.server.request({ method: 'GET', path: '/quick', signal: forever });
    expect(await text(other.stream)).toBe('quick');
    stream.destroy();
  });

  test('refuses more streams than it allows, and accepts others when one has ended', async () => {
    await using both = await pair(echo, { concurrentStreams: 2 });
    const ask = () => both.server.request({ method: 'POST', path: '/', signal: forever });
    const first = await ask();
    await ask();
    await expect(ask()).rejects.toMatchObject({ code: 'busy' });
    first.stream.destroy();
    await until(() => both.server.openStreams === 1);
    expect((await ask()).status).toBe(200);
  });

  test('tells the handler when the requester aborts, and the requester when the handler resets', async () => {
    const aborted = Promise.withResolvers<void>();
    await using both = await pair((request) => {
      if (request.path === '/reset') return;
      request.signal.addEventListener('abort', () => aborted.resolve(), { once: true });
      request.respond(200);
    });
    const stop = new AbortController();
    const { stream } = await both.server.request({ method: 'POST', path: '/', signal: stop.signal });
    stop.abort();
    await aborted.promise;
    expect(stream.destroyed).toBe(true);
    await expect(both.server.request({ method: 'POST', path: '/reset', signal: forever })).rejects.toMatchObject({ code: 'closed' });
    await expect(both.server.request({ method: 'GET', path: '/', signal: stop.signal })).rejects.toThrow(/abort/);
    expect(both.server.isOpen).toBe(true);
  });

  test('reports a handler that throws, and serves on', async () => {
    const errors: unknown[] = [];
    const [dialled, accepted] = await Promise.all([endpoint.dial(), endpoint.next()]);
    const server = await openTunnel(accepted);
    const agent = await answerTunnel(dialled, {
      handle: (request) => {
        if (request.path === '/bad') throw new Error('bad');
        request.respond(204).end();
      },
      onError: (error) => errors.push(error),
    });
    await expect(server.request({ method: 'GET', path: '/bad', signal: forever })).rejects.toMatchObject({ code: 'closed' });
    expect((await server.request({ method: 'GET', path: '/', signal: forever })).status).toBe(204);
    expect(errors).toHaveLength(1);
    server.destroy();
    await agent.closed;
  });

  test('lets open streams finish when the agent shuts down, and takes no new requests', async () => {
    await using both = await pair(echo, {}, { grace: 60_000 });
    const { stream } = await both.server.request({ method: 'POST', path: '/', signal: forever });
    const gone = both.agent[Symbol.asyncDispose]();
    await until(() => !both.server.isOpen);
    await expect(both.server.request({ method: 'GET', path: '/', signal: forever })).rejects.toMatchObject({ code: 'closed' });
    stream.end('the end');
    expect(await text(stream)).toBe('the end');
    await gone;
  });

  test('cuts streams that outlast the grace period', async () => {
    await using both = await pair(echo);
    const { stream } = await both.server.request({ method: 'POST', path: '/', signal: forever });
    const closed = once(stream, 'close');
    await both.server[Symbol.asyncDispose]();
    await closed;
  });

  test('fails open requests when the connection breaks', async () => {
    const [dialled, accepted] = await Promise.all([endpoint.dial(), endpoint.next()]);
    const server = await openTunnel(accepted);
    const agent = await answerTunnel(dialled, { handle: () => new Promise(() => {}) });
    const asked = server.request({ method: 'GET', path: '/', signal: forever });
    asked.catch(() => {});
    await until(() => agent.openStreams === 1);
    dialled.destroy();
    await expect(asked).rejects.toMatchObject({ code: 'closed' });
    await server.closed;
  });

  test('breaks off streams with an error when the connection breaks or the handler fails, so that nobody takes a part for the whole', async () => {
    let fail: (error: Error) => void = () => {};
    const [dialled, accepted] = await Promise.all([endpoint.dial(), endpoint.next()]);
    const server = await openTunnel(accepted);
    await answerTunnel(dialled, {
      handle: (request) => {
        request.respond(200).write('a part');
        return new Promise((_, reject) => (fail = reject));
      },
    });
    for (const breakOff of [() => fail(new Error('no more')), () => dialled.destroy()]) {
      const { stream } = await server.request({ method: 'GET', path: '/', signal: forever });
      const reading = text(stream);
      await once(stream, 'readable');
      breakOff();
      await expect(reading).rejects.toThrow();
    }
    await server.closed;
  });

  test('ends when the peer is silent', async () => {
    const [dialled, accepted] = await Promise.all([endpoint.dial(), endpoint.next()]);
    dialled.pause();
    const server = await openTunnel(accepted, { pingInterval: 10, missedPings: 2 });
    expect(await server.closed).toMatchObject({ code: 'dead' });
    dialled.destroy();
  });

  test('stays open between peers that answer pings', async () => {
    await using both = await pair(echo, { pingInterval: 5, missedPings: 20 });
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(both.server.isOpen).toBe(true);
  });
});

describe('the keeper of a tunnel', () => {
  const quick = { base: 1, max: 5 };

  test('dials again when the server refuses, breaks the connection or goes away', async () => {
    const failures: unknown[] = [];
    endpoint.refuseWith(503);
    await using _keeper = new TunnelKeeper({
      dial: endpoint.dial,
      handle: echo,
      backoff: quick,
      onDisconnected: (error) => failures.push(error),
    });
    await until(() => failures.length >= 2);
    expect(failures[0]).toMatchObject({ code: 'refused', status: 503 });
    endpoint.refuseWith(undefined);
    (await endpoint.next()).destroy();
    const second = await openTunnel(await endpoint.next());
    expect((await second.request({ method: 'GET', path: '/', signal: forever })).status).toBe(200);
    second.drain();
    const third = await openTunnel(await endpoint.next());
    expect((await third.request({ method: 'GET', path: '/', signal: forever })).status).toBe(200);
  });

  test('replaces a tunnel on demand while the streams of the old one go on', async () => {
    await using keeper = new TunnelKeeper({ dial: endpoint.dial, handle: echo, backoff: quick, grace: 50 });
    const first = await openTunnel(await endpoint.next());
    const { stream } = await first.request({ method: 'POST', path: '/', signal: forever });
    keeper.redial();
    const second = await openTunnel(await endpoint.next());
    expect((await second.request({ method: 'GET', path: '/', signal: forever })).status).toBe(200);
    stream.end('still here');
    expect(await text(stream)).toBe('still here');
  });

  test('says goodbye when it is disposed of', async () => {
    const keeper = new TunnelKeeper({ dial: endpoint.dial, handle: echo, backoff: quick });
    const tunnel = await openTunnel(await endpoint.next());
    await tunnel.request({ method: 'GET', path: '/', signal: forever });
    await keeper[Symbol.asyncDispose]();
    expect(await tunnel.closed).toBeUndefined();
  });
});
