import type { KubeObject } from '@capstan/machinery/objects';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LiveConnection, type LiveSocket, type StreamEnd } from './connection.ts';
import type { LiveMessage } from './protocol.ts';

class FakeSocket implements LiveSocket {
  readonly sent: unknown[] = [];
  isClosed = false;
  onopen: (() => void) | null = null;
  onclose: ((end: StreamEnd) => void) | null = null;
  onmessage: ((event: { readonly data: unknown }) => void) | null = null;

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.isClosed = true;
  }
  receive(message: LiveMessage): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

const unit = (name: string, phase = 'Running'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Unit',
  metadata: { name, namespace: 'default' },
  status: { phase },
});
const forbidden = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403, message: 'no' } as const;
const units = { path: '/clusters/root/apis/a/v1/units' };

let sockets: FakeSocket[];
let live: LiveConnection;
let ends: StreamEnd[];
const last = (): FakeSocket => sockets.at(-1)!;

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  ends = [];
  live = new LiveConnection({
    open: () => {
      sockets.push(new FakeSocket());
      return last();
    },
    onLost: (end) => ends.push(end),
    linger: 100,
    firstWait: 1000,
    longestWait: 4000,
    random: () => 1,
  });
});

afterEach(() => {
  live.close();
  vi.useRealTimers();
});

describe('a list', () => {
  test('is loading until it comes, and follows its changes', () => {
    const seen = vi.fn();
    live.follow(units, seen);
    expect(live.read(units)).toEqual({ state: 'loading' });
    last().onopen?.();
    expect(last().sent).toEqual([{ add: '1', path: units.path }]);
    last().receive({ key: '1', type: 'list', items: [unit('a'), unit('b')] });
    last().receive({
      key: '1',
      type: 'changes',
      changes: [
        { type: 'MODIFIED', object: unit('a', 'Failed') },
        { type: 'DELETED', object: unit('b') },
        { type: 'ADDED', object: unit('c') },
      ],
    });
    expect(live.read(units)).toEqual({ state: 'content', content: [unit('a', 'Failed'), unit('c')] });
    expect(seen).toHaveBeenCalledTimes(2);
  });

  test('is requested once for all who follow it', () => {
    const first = live.follow(units, () => {});
    live.follow(units, () => {});
    last().onopen?.();
    expect(last().sent).toHaveLength(1);
    first();
    vi.advanceTimersByTime(1000);
    expect(last().sent).toHaveLength(1);
  });

  test('is given up a while after the last reader has left, unless one comes back', () => {
    const leave = live.follow(units, () => {});
    last().onopen?.();
    leave();
    vi.advanceTimersByTime(50);
    const leaveAgain = live.follow(units, () => {});
    vi.advanceTimersByTime(1000);
    expect(last().sent).toHaveLength(1);
    leaveAgain();
    vi.advanceTimersByTime(100);
    expect(last().sent.at(-1)).toEqual({ remove: '1' });
  });

  test('may be a part of all objects', () => {
    live.follow({ ...units, labelSelector: 'a=b', fieldSelector: 'metadata.name=c' }, () => {});
    last().onopen?.();
    expect(last().sent).toEqual([{ add: '1', path: units.path, selector: { labels: 'a=b', fields: 'metadata.name=c' } }]);
  });

  test('is the same object between two changes', () => {
    live.follow(units, () => {});
    last().onopen?.();
    last().receive({ key: '1', type: 'list', items: [unit('a')] });
    expect(live.read(units)).toBe(live.read(units));
  });
});

describe('an error', () => {
  test('is forgotten when somebody asks again, and lists that came stay', () => {
    const nodes = { path: '/clusters/root/apis/a/v1/nodes' };
    const seen = vi.fn();
    live.follow(units, seen);
    live.follow(nodes, () => {});
    last().onopen?.();
    last().receive({ key: '1', type: 'error', status: forbidden });
    last().receive({ key: '2', type: 'list', items: [] });
    live.requestFailed();
    expect(live.read(units)).toEqual({ state: 'loading' });
    expect(live.read(nodes)).toEqual({ state: 'content', content: [] });
    expect(seen).toHaveBeenCalledTimes(2);
    expect(last().sent.slice(2)).toEqual([{ remove: '1' }, { add: '3', path: units.path }]);
    last().receive({ key: '1', type: 'error', status: forbidden });
    last().receive({ key: '3', type: 'list', items: [unit('a')] });
    expect(live.read(units)).toEqual({ state: 'content', content: [unit('a')] });
  });

  test('is asked for again with the next connection if there is none now', () => {
    live.follow(units, () => {});
    last().onopen?.();
    last().receive({ key: '1', type: 'error', status: forbidden });
    last().onclose?.({ code: 1006, reason: '' });
    live.requestFailed();
    vi.advanceTimersByTime(1000);
    last().onopen?.();
    expect(last().sent).toEqual([{ add: '2', path: units.path }]);
  });

  test('replaces a list that may not be read any more', () => {
    live.follow(units, () => {});
    last().onopen?.();
    last().receive({ key: '1', type: 'list', items: [unit('a')] });
    last().receive({ key: '1', type: 'error', status: forbidden });
    expect(live.read(units)).toEqual({ state: 'error', status: forbidden });
  });

  test('that will be retried hides nothing', () => {
    live.follow(units, () => {});
    last().onopen?.();
    last().receive({ key: '1', type: 'list', items: [unit('a')] });
    last().receive({ key: '1', type: 'error', status: { ...forbidden, code: 500 } });
    expect(live.read(units).state).toBe('content');
  });
});

describe('a lost connection', () => {
  test('keeps the content, and is replaced after a growing wait', () => {
    live.follow(units, () => {});
    last().onopen?.();
    last().receive({ key: '1', type: 'list', items: [unit('a')] });
    for (const wait of [1000, 2000, 4000, 4000]) {
      last().onclose?.({ code: 1006, reason: '' });
      expect(live.link).toMatchObject({ state: 'lost' });
      expect(live.read(units).state).toBe('content');
      const before = sockets.length;
      vi.advanceTimersByTime(wait - 1);
      expect(sockets).toHaveLength(before);
      vi.advanceTimersByTime(1);
      expect(sockets).toHaveLength(before + 1);
    }
    last().onopen?.();
    expect(live.link).toEqual({ state: 'connected' });
    expect(last().sent).toEqual([{ add: '1', path: units.path }]);
  });

  test('says how it ended', () => {
    live.follow(units, () => {});
    last().onclose?.({ code: 4401, reason: 'expired' });
    expect(ends).toEqual([{ code: 4401, reason: 'expired' }]);
  });

  test('is tried again at once when asked to', () => {
    live.follow(units, () => {});
    last().onclose?.({ code: 1006, reason: '' });
    live.retryNow();
    expect(sockets).toHaveLength(2);
    live.retryNow();
    expect(sockets).toHaveLength(2);
  });

  test('of the process to the API server is told apart', () => {
    live.follow(units, () => {});
    last().onopen?.();
    last().receive({ type: 'connection', upstream: 'lost', since: '2026-11-16T12:00:00.000Z' });
    expect(live.link).toEqual({ state: 'upstream-lost', since: '2026-11-16T12:00:00.000Z' });
    last().receive({ type: 'connection', upstream: 'restored' });
    expect(live.link).toEqual({ state: 'connected' });
  });
});

test('a sample keeps its last value when a later one fails', () => {
  const sample = { sample: '/kube/metrics', seconds: 5 };
  live.follow(sample, () => {});
  last().onopen?.();
  expect(last().sent).toEqual([{ add: '1', ...sample }]);
  last().receive({ key: '1', type: 'sample', value: 7 });
  last().receive({ key: '1', type: 'error', status: { ...forbidden, code: 404 } });
  expect(live.read(sample)).toEqual({ state: 'content', content: 7 });
});

test('messages for something that was given up are ignored', () => {
  live.follow(units, () => {});
  last().onopen?.();
  expect(() => last().receive({ key: '99', type: 'list', items: [] })).not.toThrow();
});
