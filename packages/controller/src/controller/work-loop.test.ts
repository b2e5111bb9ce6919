import { ApiError, type Client, InformerFactory, noTracer } from '@capstan/client';
import { Metrics, status } from '@capstan/machinery';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { EventRecorder } from '../events/recorder.ts';
import type { ControllerContext } from '../manager/runnable.ts';
import { done, type Result, requeueAfter, TerminalError } from './result.ts';
import { WorkLoop } from './work-loop.ts';

let stop: AbortController;
let drop: AbortController;
let metrics: Metrics;
let errors: string[];
let isLeading: boolean;

beforeEach(() => {
  stop = new AbortController();
  drop = new AbortController();
  metrics = new Metrics();
  errors = [];
  isLeading = true;
});

const client = {} as Client;
const context = (): ControllerContext => ({
  client,
  informers: new InformerFactory({ client }),
  events: {} as EventRecorder,
  metrics,
  tracer: noTracer,
  isLeading: () => isLeading,
  signal: stop.signal,
  drop: drop.signal,
  onError: (error, { name }) => void errors.push(`${name}: ${(error as Error).message}`),
  at: () => {
    throw new Error('a loop stays where it is');
  },
  log: () => {},
});
const makeLoop = (): WorkLoop<string> =>
  new WorkLoop<string>(context(), {
    name: 'test',
    keyOf: (item) => item,
    objectOf: (name) => ({ name }),
    type: { group: '', resource: 'configmaps' },
    backoff: { base: 1, max: 1 },
  });

describe('WorkLoop', () => {
  test('works on items until the signal is aborted, and lets the last one end', async () => {
    using loop = makeLoop();
    const log: string[] = [];
    loop.queue.add('a');
    loop.queue.add('b');
    await loop.run(async (item) => {
      log.push(item);
      if (item === 'b') stop.abort();
      await Promise.resolve();
      log.push(`${item} ended`);
      return done;
    });
    expect(log).toEqual(['a', 'a ended', 'b', 'b ended']);
  });

  test('retries failures, and reports them with the name of the item', async () => {
    using loop = makeLoop();
    const attempts: number[] = [];
    loop.queue.add('a');
    await loop.run((_item, attempt) => {
      attempts.push(attempt);
      if (attempts.length < 3) throw new Error('oops');
      stop.abort();
      return done;
    });
    expect(attempts).toEqual([0, 1, 2]);
    expect(errors).toEqual(['a: oops', 'a: oops']);
    expect(metrics.text()).toContain('controller_runtime_reconcile_total{controller="test",result="error"} 2');
  });

  test.each<[string, () => Result, number, string[]]>([
    [
      'reports a terminal error once',
      () => {
        throw new TerminalError('hopeless');
      },
      1,
      ['a: hopeless'],
    ],
    ['reconciles again when asked to', () => requeueAfter(1), 2, []],
    [
      'ends quietly if the object is gone',
      () => {
        throw notFound('a');
      },
      1,
      [],
    ],
    [
      'retries if another object is missing',
      () => {
        throw notFound('b');
      },
      2,
      ['a: configmaps "b" not found'],
    ],
  ])('%s', async (_name, first, calls, reported) => {
    using loop = makeLoop();
    let called = 0;
    loop.queue.add('a');
    const running = loop.run(() => (called++ === 0 ? first() : done));
    await vi.waitFor(() => expect(called).toBe(calls));
    stop.abort();
    await running;
    expect(called).toBe(calls);
    expect(errors).toEqual(reported);
  });

  test('does not report work that failed because it was dropped', async () => {
    using loop = makeLoop();
    loop.queue.add('a');
    await loop.run(() => {
      drop.abort();
      stop.abort();
      throw new Error('aborted');
    });
    expect(errors).toEqual([]);
  });

  test('starts nothing once the process does not lead', async () => {
    using loop = makeLoop();
    isLeading = false;
    loop.queue.add('a');
    await loop.run(() => expect.unreachable());
  });
});

function notFound(name: string): ApiError {
  const { status: said, code } = status.notFound({ group: '', resource: 'configmaps' }, name);
  return new ApiError(said, { code });
}
