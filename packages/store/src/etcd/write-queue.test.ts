import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Call } from './connection.ts';
import { GrpcError, grpcStatus } from './grpc-error.ts';
import { Reader, ReverseWriter } from './protobuf.ts';
import { positionOf, revisionAt } from './revisions.ts';
import { WriteQueue } from './write-queue.ts';

/** A fake etcd that keeps transactions until the test answers them. */
class FakeEtcd {
  readonly sent: { keys: string[]; expected: number[]; succeed(etcdRevision: number): void; fail(error: Error): void }[] = [];

  call = <Response>(call: Call<Response>): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const compared = comparisonsOf(new Reader(call.body));
    this.sent.push({
      keys: compared.map(({ key }) => key),
      expected: compared.map(({ expected }) => expected),
      succeed: (etcdRevision) => resolve(call.decode(answer(compared.length, etcdRevision))),
      fail: reject,
    });
    return promise;
  };
}

let etcd: FakeEtcd;
let queue: WriteQueue;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setImmediate', 'setTimeout', 'clearTimeout'] });
  etcd = new FakeEtcd();
  queue = new WriteQueue(etcd, '');
});
afterEach(() => {
  vi.useRealTimers();
});

const turn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(1);

describe('the write queue', () => {
  it('sends writes that arrive together in one transaction, ordered by position, and returns each its revision', async () => {
    const names = ['/a', '/b', '/c', '/d'];
    const writes = names.map((name) => queue.write(name, 'x', 'absent'));
    await turn();
    expect(etcd.sent.map(({ keys }) => keys)).toEqual([names.toSorted((a, b) => positionOf(a) - positionOf(b))]);
    etcd.sent[0]!.succeed(7);
    expect(await Promise.all(writes)).toEqual(names.map((name) => revisionAt(7, positionOf(name))));
  });

  it('collects writes that arrive while two transactions are pending', async () => {
    for (const name of ['/1', '/2', '/3', '/4', '/5']) {
      void queue.write(name, 'x', 'absent');
      await turn();
    }
    expect(etcd.sent.map(({ keys }) => keys.length)).toEqual([1, 1]);
    etcd.sent[1]!.succeed(2);
    await turn();
    expect(etcd.sent.map(({ keys }) => keys.length)).toEqual([1, 1, 3]);
  });

  it('never puts one key twice, or two keys with the same position, in one transaction', async () => {
    const [one, other] = samePosition();
    for (const name of [one, other, one]) void queue.write(name, 'x', 'absent');
    for (let sent = 0; sent < 3; sent++) {
      await turn();
      etcd.sent[sent]!.succeed(sent + 2);
    }
    expect(etcd.sent.map(({ keys }) => keys)).toEqual([[one], [other], [one]]);
  });

  it('does not hold back writes behind transactions that get no answer', async () => {
    for (let index = 0; index < 4; index++) {
      void queue.write(`/${index}`, 'x', 'absent');
      await turn();
    }
    expect(etcd.sent).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(etcd.sent.map(({ keys }) => keys.length)).toEqual([1, 1, 2]);
  });

  it('expects only revisions that etcd can have given to the key, and absence only for a create', async () => {
    const position = positionOf('/a');
    const asked = ['absent', revisionAt(7, position), revisionAt(7, position + 1), position, 0] as const;
    for (const [index, expected] of asked.entries()) {
      void queue.write('/a', 'x', expected);
      await turn();
      etcd.sent[index]!.succeed(index + 2);
    }
    const never = Number.MAX_SAFE_INTEGER;
    expect(etcd.sent.flatMap(({ expected }) => expected)).toEqual([0, 7, never, never, never]);
  });

  it('reports to each writer the failure of its own key only', async () => {
    const results = Promise.allSettled(['/mine', '/yours'].map((name) => queue.write(name, 'x', 'absent')));
    await turn();
    etcd.sent[0]!.fail(new GrpcError(grpcStatus.unavailable, 'gone'));
    const [mine, yours] = await results;
    expect(mine).toMatchObject({ reason: { code: 'unavailable', message: expect.stringMatching(/^cannot write \/mine: (?!.*yours)/) } });
    expect(yours).toMatchObject({ reason: { code: 'unavailable', message: expect.stringMatching(/^cannot write \/yours: (?!.*mine)/) } });
  });

  it('is drained only when every transaction was answered', async () => {
    const write = queue.write('/a', 'x', 'absent');
    let isDrained = false;
    const draining = queue.drain().then(() => (isDrained = true));
    await expect(queue.write('/b', 'x', 'absent')).rejects.toMatchObject({ code: 'closed' });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(isDrained).toBe(false);
    etcd.sent[0]!.succeed(2);
    await write;
    await draining;
  });
});

function samePosition(): [string, string] {
  const seen = new Map<number, string>();
  for (let index = 0; ; index++) {
    const name = `/${index}`;
    const other = seen.get(positionOf(name));
    if (other !== undefined) return [other, name];
    seen.set(positionOf(name), name);
  }
}

interface Comparison {
  readonly key: string;
  readonly expected: number;
}

/** The comparisons of the nested transactions, or of the transaction itself. */
function comparisonsOf(reader: Reader): Comparison[] {
  const found: Comparison[] = [];
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) found.push(comparison(reader.nested()));
    else if (field === 2) {
      const operation = reader.nested();
      if (operation.field() === 4) found.push(...comparisonsOf(operation.nested()));
    } else reader.skip();
  }
  return found;
}

function comparison(reader: Reader): Comparison {
  let key = '';
  let expected = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 3) key = reader.text();
    else if (field === 6) expected = reader.integer();
    else reader.skip();
  }
  return { key, expected };
}

/** All of them succeeded. */
function answer(count: number, etcdRevision: number): Buffer {
  const writer = new ReverseWriter(64);
  for (let index = 0; count > 1 && index < count; index++) {
    const before = writer.length;
    writer.boolean(2, true);
    writer.nested(4, before);
    writer.nested(3, before);
  }
  writer.boolean(2, true);
  const header = writer.length;
  writer.integer(3, etcdRevision);
  writer.nested(1, header);
  return writer.finish();
}
