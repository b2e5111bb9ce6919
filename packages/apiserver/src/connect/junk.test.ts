import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { FakeKubelet } from '@capstan/streams/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { createNodeAndPod, startKubelet } from './testing.ts';

const log: string[] = [];
let server: TestServer;
let kubelet: FakeKubelet;
beforeAll(async () => {
  server = await startTestServer({ log: (line) => void log.push(line) });
  kubelet = await startKubelet(server);
  await createNodeAndPod(server, kubelet);
});
afterAll(async () => {
  await kubelet[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** The same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const random = numbers(20_261_117);
const pick = <T>(values: readonly T[]): T => values[random(values.length)]!;
const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random(256)));

const places = ['/api/v1/namespaces/default/pods/web', '/api/v1/nodes/n1'];
const subresources = ['log', 'exec', 'attach', 'portforward', 'proxy/a', 'proxy/a/../b', 'exec/x'];
const queries = [
  '',
  '?follow=true',
  '?command=cat&stdin=1&stdout=1&tty=1',
  '?command=true&stdout=true&stderr=true',
  '?container=broken',
  '?container=%00',
  '?ports=80&ports=x',
];
const webSocketProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'SPDY/3.1+portforward.k8s.io', 'junk'];
const spdyProtocols = ['v4.channel.k8s.io', 'v5.channel.k8s.io', 'portforward.k8s.io', ''];

function request(): string {
  const upgrade = pick(['', 'websocket', 'SPDY/3.1', 'h2c']);
  const headers = ['Host: x'];
  if (upgrade !== '') headers.push('Connection: Upgrade', `Upgrade: ${upgrade}`);
  if (upgrade === 'websocket')
    headers.push(
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      `Sec-WebSocket-Protocol: ${pick(webSocketProtocols)}`,
    );
  if (upgrade === 'SPDY/3.1') headers.push(`X-Stream-Protocol-Version: ${pick(spdyProtocols)}`);
  const method = pick(['GET', 'GET', 'POST', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'HEAD']);
  return `${method} ${pick(places)}/${pick(subresources)}${pick(queries)} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`;
}

/** Parts of frames of WebSocket and SPDY, another request, or anything. */
const junk = (): Buffer =>
  pick([
    () => bytes(random(200)),
    () => Buffer.from([0x82, 0x80 | random(126), 1, 2, 3, 4, ...bytes(random(30))]),
    () => Buffer.from([0x80, 3, 0, 1 + random(9), random(2), 0, 0, random(40), ...bytes(random(60))]),
    () => Buffer.alloc(random(70_000), 0x82),
    () => Buffer.from('GET /version HTTP/1.1\r\nHost: x\r\n\r\n'),
  ])();

/** Sends a request, waits for the answer or not, sends junk, and leaves politely or not. Returns the status. */
async function attack(): Promise<number> {
  const port = Number(new URL(server.url).port);
  const socket = connect({ host: '127.0.0.1', port, ...server.identity, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => {});
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    if (answer.length < 12) answer += chunk.toString('latin1');
  });
  await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]);
  socket.write(request());
  const waits = random(4) > 0;
  for (let left = 2_000; waits && left > 0 && answer.length < 12 && !socket.destroyed; left--) await sleep(5);
  for (let left = random(4); left > 0 && !socket.destroyed; left--) socket.write(junk());
  await sleep(random(10));
  if (random(3) === 0) socket.end();
  await sleep(random(10));
  socket.destroy();
  return Number(answer.slice(9, 12));
}

test('streams with random requests and bytes end, leave nothing open, and break nothing', async () => {
  const codes = new Set<number>();
  for (let round = 0; round < 25; round++) for (const code of await Promise.all(Array.from({ length: 8 }, attack))) codes.add(code);
  expect([...codes].filter((code) => code >= 500)).toEqual([]);
  expect([...codes]).toEqual(expect.arrayContaining([101, 200, 400, 404, 405]));
  expect(log.filter((line) => line.includes('\n    at '))).toEqual([]);
  const open = async (): Promise<string[]> => {
    const { text } = await server.call('/metrics');
    return ['capstan_streams', 'capstan_connections_to_nodes'].map((name) => new RegExp(`^${name} (\\d+)$`, 'm').exec(text)![1]!);
  };
  await expect.poll(open).toEqual(['0', '0']);
  expect((await server.call(`${places[0]}/log`)).text).toContain('first line');
});
