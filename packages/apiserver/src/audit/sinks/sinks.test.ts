import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startTestServer } from '../../testing/harness.ts';
import { StdoutSink } from './stdout.ts';
import { WebhookSink, type WebhookSinkOptions } from './webhook.ts';

interface Receiver {
  readonly url: string;
  readonly lists: { kind: string; apiVersion: string; items: { auditID: string }[] }[];
  /** Answers the next requests with these codes, then with 200; undefined never answers. */
  codes: (number | undefined)[];
}

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function receiver(...codes: (number | undefined)[]): Promise<Receiver> {
  const received: Receiver = { url: '', lists: [], codes };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const code = received.codes.length === 0 ? 200 : received.codes.shift();
      if (code === 200) received.lists.push(JSON.parse(text));
      if (code !== undefined) response.writeHead(code).end();
    });
  });
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return Object.assign(received, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events` });
}

const line = (id: string): string => `${JSON.stringify({ kind: 'Event', auditID: id })}\n`;
const ids = ({ lists }: Receiver): string[][] => lists.map(({ items }) => items.map(({ auditID }) => auditID));
const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 10_000, interval: 5 });

function sinkFor(url: string, more: Partial<WebhookSinkOptions> = {}): { sink: WebhookSink; errors: string[] } {
  const errors: string[] = [];
  const sink = new WebhookSink({
    connection: { url, credentials: () => ({ authorization: 'Bearer secret' }) },
    batchDelay: 1,
    backoff: { base: 1, max: 1 },
    onError: ({ message }) => errors.push(message),
    ...more,
  });
  return { sink, errors };
}

describe('a webhook', () => {
  it('gets EventLists, in order, of at most as many events as configured', async () => {
    const hook = await receiver();
    const { sink, errors } = sinkFor(hook.url, { batchSize: 2, batchDelay: 60_000 });
    for (const id of ['1', '2', '3']) sink.write(line(id));
    await eventually(() => expect(ids(hook)).toEqual([['1', '2'], ['3']]));
    expect(hook.lists[0]).toMatchObject({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1' });
    await sink[Symbol.asyncDispose]();
    expect([errors, sink.dropped]).toEqual([[], 0]);
  });

  it('gets an event that waits for others after a while, and the rest when the server stops', async () => {
    const hook = await receiver();
    const { sink } = sinkFor(hook.url);
    sink.write(line('alone'));
    await eventually(() => expect(ids(hook)).toEqual([['alone']]));
    const slow = sinkFor(hook.url, { batchDelay: 60_000 }).sink;
    slow.write(line('late'));
    await slow[Symbol.asyncDispose]();
    expect(ids(hook).flat()).toContain('late');
    await sink[Symbol.asyncDispose]();
  });

  it('gets a batch again after a failure, which is reported once', async () => {
    const hook = await receiver(500, 404, 500);
    const { sink, errors } = sinkFor(hook.url);
    sink.write(line('a'));
    await eventually(() => expect(ids(hook)).toEqual([['a']]));
    expect(errors).toEqual([expect.stringContaining('the audit webhook does not take events')]);
    expect(sink.dropped).toBe(0);
    await sink[Symbol.asyncDispose]();
  });

  it('that refuses a batch for good loses it, and gets the next', async () => {
    const hook = await receiver(400, 400);
    const { sink } = sinkFor(hook.url, { attempts: 2 });
    sink.write(line('lost'));
    await eventually(() => expect(sink.dropped).toBe(1));
    sink.write(line('next'));
    await eventually(() => expect(ids(hook)).toEqual([['next']]));
    await sink[Symbol.asyncDispose]();
  });

  it('that is dead fills a bounded buffer, and further events are counted', async () => {
    const hook = await receiver(undefined, undefined, undefined);
    const { sink } = sinkFor(hook.url, { bufferSize: 5, batchSize: 2, timeout: 60_000 });
    for (let index = 0; index < 20; index++) sink.write(line(String(index)));
    await eventually(() => expect(sink.dropped).toBeGreaterThanOrEqual(13));
    expect(sink.dropped).toBeLessThanOrEqual(15);
  });

  it('never delays an answer, and the file has all events', async () => {
    const hook = await receiver(...Array<undefined>(100).fill(undefined));
    const connection = { url: hook.url, credentials: () => ({}) };
    await using server = await startTestServer({
      audit: { sinks: [{ type: 'webhook', connection, batchDelay: 1, bufferSize: 2, batchSize: 1 }] },
    });
    for (let index = 0; index < 20; index++) {
      const body = { metadata: { name: `c-${index}` } };
      expect((await server.call('/api/v1/namespaces/default/configmaps', { method: 'POST', body })).code).toBe(201);
    }
    expect(
      readFileSync(join(server.directory, 'audit.log'), 'utf8').match(/"verb":"create","user":\{"username":"kubernetes-admin"/g),
    ).toHaveLength(20);
    const metrics = (await server.call('/metrics')).text;
    expect(Number(/^capstan_audit_sink_dropped_total (\d+)$/m.exec(metrics)![1])).toBeGreaterThan(0);
    hook.codes = [];
    for (const one of open) one.closeAllConnections();
  });
});

describe('the standard output', () => {
  it('gets whole lines in order, and drops those that do not fit', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'stdout-'));
    const descriptor = openSync(join(directory, 'out'), 'w');
    const errors: string[] = [];
    const sink = new StdoutSink({ descriptor, mostPending: 200, onError: ({ message }) => errors.push(message) });
    for (let index = 0; index < 100; index++) sink.write(line(String(index)));
    await sink[Symbol.asyncDispose]();
    closeSync(descriptor);
    const lines = readFileSync(join(directory, 'out'), 'utf8').trimEnd().split('\n');
    expect(lines.map((text) => JSON.parse(text).auditID)).toEqual(lines.map((_, index) => String(index)));
    expect(lines.length + sink.dropped).toBe(100);
    expect(errors).toEqual([expect.stringContaining('not read fast enough')]);
    await rm(directory, { recursive: true });
  });
});
