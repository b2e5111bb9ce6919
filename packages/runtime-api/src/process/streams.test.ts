import { setTimeout as sleep } from 'node:timers/promises';
import { restPath } from '@capstan/api';
import { type JsonObject, textOf } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Rest, startRest } from '../suite/rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await startRest({ streams: { perUser: 3, overall: 100, heartbeat: 50, patience: 1_000 } });
}, 60_000);
afterAll(() => rest[Symbol.asyncDispose]());

const units = `${restPath}/gpu-units`;
const unit = (name: string, more: JsonObject = {}) =>
  rest.ask(units, { method: 'POST', body: { name, resources: { cpu: '1' }, command: ['true'], ...more } });

interface Event {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: JsonObject;
}

/** Reads events until one is the last. The stream ends with the stop. */
class Reader {
  readonly events: Event[] = [];
  comments = 0;
  readonly #stop = new AbortController();
  readonly ended: Promise<void>;
  status = 0;

  constructor(url: string, { lastId, token = rest.token }: { readonly lastId?: string; readonly token?: string } = {}) {
    this.ended = this.#read(url, { authorization: `Bearer ${token}`, ...(lastId !== undefined && { 'last-event-id': lastId }) });
  }

  async #read(url: string, headers: Record<string, string>): Promise<void> {
    try {
      const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: this.#stop.signal });
      this.status = response.status;
      let text = '';
      for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          this.#take(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  #take(block: string): void {
    if (block.startsWith(':')) this.comments++;
    const field = (name: string): string | undefined => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1];
    const event = field('event');
    if (event !== undefined) this.events.push({ event, id: field('id'), data: JSON.parse(field('data') ?? '{}') as JsonObject });
  }

  names(): string[] {
    return this.events.map(({ event, data }) => `${event} ${textOf(data['id'])}`.trim());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.ended;
  }
}

describe('events', () => {
  test('begin with all objects, go on with changes, and can be resumed', async () => {
    await unit('seen-a');
    const reader = new Reader(`${rest.url}${units}?label=!hidden`);
    await expect.poll(() => reader.names()).toEqual(['added seen-a', 'synced']);
    // Versions of the first objects are no place to resume from.
    expect(reader.events.map(({ id }) => id === undefined)).toEqual([true, false]);
    await unit('seen-b');
    await unit('unseen', { labels: { hidden: 'yes' } });
    await rest.ask(`${units}/seen-b`, { method: 'PATCH', body: { priority: 1 } });
    await expect
      .poll(() =>
        reader
          .names()
          .slice(2)
          .filter((name) => name !== 'bookmark'),
      )
      .toEqual(['added seen-b', 'modified seen-b']);
    const lastId = reader.events.at(-1)!.id!;
    await expect.poll(() => reader.comments).toBeGreaterThan(0);
    await reader.stop();
    await rest.ask(`${units}/seen-a`, { method: 'DELETE' });
    const second = new Reader(`${rest.url}${units}?watch=true`, { lastId });
    await expect.poll(() => second.names().filter((name) => name !== 'bookmark')).toEqual(['deleted seen-a']);
    await second.stop();
  });

  test('must be resumed from an id', async () => {
    for (const wrong of ['x', '99999999999999999999'])
      expect((await rest.ask(`${units}?watch=true`, { headers: { 'last-event-id': wrong } })).body['code']).toBe('invalid_request');
    expect((await rest.ask(`${units}?watch=true&phase=Running`)).body['code']).toBe('invalid_parameter');
  });

  test('are limited for each user, and places are free again when streams end', async () => {
    const readers = Array.from({ length: 3 }, () => new Reader(`${rest.url}${units}`));
    for (const reader of readers) await expect.poll(() => reader.names()).toContain('synced');
    expect((await rest.ask(`${units}?watch=true`)).body).toMatchObject({ code: 'too_many_streams', status: 429 });
    const other = await rest.accountToken(rest.tenant.client, 'other', 'cluster-admin');
    const fourth = new Reader(`${rest.url}${units}`, { token: other });
    await expect.poll(() => fourth.names()).toContain('synced');
    // A token that names somebody else as its subject uses none of their places.
    await readers[0]!.stop();
    const [head, payload] = rest.token.split('.') as [string, string];
    await Promise.all(Array.from({ length: 5 }, () => rest.ask(`${units}?watch=true`, { token: `${head}.${payload}.AAAA` })));
    await expect
      .poll(async () => {
        const again = new Reader(`${rest.url}${units}`);
        await sleep(50);
        await again.stop();
        return again.status;
      })
      .toBe(200);
    for (const reader of [...readers, fourth]) await reader.stop();
  });

  test('need rights like lists', async () => {
    const token = await rest.accountToken(rest.tenant.client, 'nobody');
    expect((await rest.ask(`${units}?watch=true`, { token })).body['code']).toBe('forbidden');
  });
});

describe('a server that stops', () => {
  test('ends its streams cleanly, and refuses nothing that it has begun', async () => {
    const api = await rest.replica();
    const reader = new Reader(`http://127.0.0.1:${api.port}${units}`);
    await expect.poll(() => reader.names()).toContain('synced');
    await api[Symbol.asyncDispose]();
    await reader.ended;
    expect(reader.status).toBe(200);
  });
});
