import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { superuserGroup } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { Sockets } from '../http/sockets.ts';
import { Dialled, keepFewIdle } from './dialled.ts';
import type { OpenStream } from './open-streams.ts';

const jane = { name: 'jane', groups: [] };
const admin = { name: 'admin', groups: [superuserGroup] };

/** For twelve connections to nodes. */
const few = (): Sockets => new Sockets({ descriptors: { limit: 100, open: 0 }, limit: () => undefined });

function stream(tenant: string): { opened: OpenStream; end(): void } {
  const over = new AbortController();
  const opened = { exchange: { client: { tenant } }, signal: over.signal } as unknown as OpenStream;
  return { opened, end: () => over.abort() };
}

describe('connections of streams to nodes', () => {
  test('are as many as the limit of open files allows, and end with their streams', () => {
    const sockets = few();
    const dialled = new Dialled(sockets);
    const streams = Array.from({ length: 12 }, () => stream('@admin'));
    for (const { opened } of streams) dialled.open(opened, admin);
    const late = stream('@admin');
    expect(() => dialled.open(late.opened, admin)).toThrow(
      'the server has 12 connections to nodes open, and its limit of open files allows no more; try again later, or raise that limit',
    );
    streams[0]!.end();
    dialled.open(late.opened, admin);
    for (const one of [...streams, late]) one.end();
    expect(sockets.toNodes).toBe(0);
  });

  test('of one user are at most half of them', () => {
    const dialled = new Dialled(few());
    for (let index = 0; index < 6; index++) dialled.open(stream('@jane').opened, jane);
    expect(() => dialled.open(stream('@jane').opened, jane)).toThrow(
      "you have 6 connections to nodes open, and 6 is your share of what the server's limit of open files allows; close some of them",
    );
    dialled.open(stream('@joe').opened, { name: 'joe', groups: [] });
  });

  test('are refused while connections of clients take all files', () => {
    const sockets = few();
    sockets.makeRoom = () => false;
    const dialled = new Dialled(sockets);
    expect(() => dialled.open(stream('@admin').opened, admin)).toThrow(
      'the server has as many connections open as its limit of open files allows; try again later',
    );
    expect(sockets.toNodes).toBe(0);
  });

  test('are not counted for a client that has left', () => {
    const sockets = few();
    const gone = stream('@jane');
    gone.end();
    new Dialled(sockets).open(gone.opened, jane);
    expect(sockets.toNodes).toBe(0);
  });

  test('that nobody uses any more are closed, except for a few', async () => {
    await using server = createServer((_request, response) => void response.end('x'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const agent = keepFewIdle(new Agent({ keepAlive: true }), { mostIdle: 2 });
    const ask = async (): Promise<void> => {
      const [response] = await once(get({ host: '127.0.0.1', port, agent }), 'response');
      await once(response.resume(), 'close');
    };
    await Promise.all([ask(), ask(), ask(), ask()]);
    await expect.poll(() => Object.values(agent.sockets).flat()).toEqual([]);
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(2);
    agent.destroy();
  });
});
