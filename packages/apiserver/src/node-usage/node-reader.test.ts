import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { NodeConnection, NodeResponse } from '@capstan/streams';
import { expect, test } from 'vitest';
import { NodeReader } from './node-reader.ts';

function response(body: string | Buffer, status = 200): NodeResponse {
  const stream = new PassThrough();
  stream.end(body);
  return { status, headers: {}, stream };
}

const through = (request: NodeConnection['request']) => ({ to: (node: string) => (node === 'none' ? undefined : { request }) });
const parse = (text: string): unknown => JSON.parse(text);

test('asks a node once for all who wait, and again when the answer is old', async () => {
  let now = 0;
  let asked = 0;
  const tunnels = through(() => Promise.resolve(response(String(++asked))));
  using reader = new NodeReader({ tunnels, path: '/x', parse, maxAge: 100, now: () => now });
  expect(await Promise.all([reader.read('a'), reader.read('a'), reader.read('a')])).toEqual([1, 1, 1]);
  now = 99;
  expect(await reader.read('a')).toBe(1);
  now = 101;
  expect(await reader.read('a')).toBe(2);
});

test('asks only some nodes at the same time', async () => {
  const waiting: (() => void)[] = [];
  const tunnels = through(() => new Promise((resolve) => waiting.push(() => resolve(response('1')))));
  using reader = new NodeReader({ tunnels, path: '/x', parse, concurrency: 2 });
  const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map((node) => reader.read(node)));
  for (let answered = 0; answered < 5; answered++) {
    await turn();
    await turn();
    expect(waiting.length).toBe(Math.min(2, 5 - answered));
    waiting.shift()!();
    await turn();
    await turn();
  }
  expect(await all).toEqual([1, 1, 1, 1, 1]);
});

test.each<[string, NodeConnection['request']]>([
  ['refuses', () => Promise.resolve(response('{}', 500))],
  ['is gone', () => Promise.reject(new Error('gone'))],
  ['sends something else', () => Promise.resolve(response('no'))],
  ['sends too much', () => Promise.resolve(response(Buffer.alloc(5 << 20, '1')))],
  ['never ends its answer', ({ signal }) => Promise.resolve({ status: 200, headers: {}, stream: endlessStream(signal) })],
  ['never answers', ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))],
])('a node that %s has no numbers', async (_, request) => {
  using reader = new NodeReader({ tunnels: through(request), path: '/x', parse, patience: 20 });
  expect(await reader.read('a')).toBeUndefined();
  expect(await reader.read('none')).toBeUndefined();
});

/** Like the streams of a tunnel, it is destroyed when the request is aborted. */
function endlessStream(signal: AbortSignal): PassThrough {
  const stream = new PassThrough();
  stream.end = () => stream;
  stream.write('1');
  signal.addEventListener('abort', () => stream.destroy(signal.reason as Error));
  return stream;
}
