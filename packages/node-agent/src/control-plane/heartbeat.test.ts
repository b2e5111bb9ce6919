import { ApiError, type Client } from '@capstan/client';
import type { Heartbeat as Beat } from '@capstan/streams';
import { expect, test } from 'vitest';
import { Heartbeat, untilNextBeat } from './heartbeat.ts';

/** A control plane with one Lease, which others may renew or restore. */
class Leases {
  revision = 100;
  holder: string | undefined;
  requests = 0;
  /** How the server treats heartbeats through a tunnel. */
  stream: 'none' | 'renews' | 'left' | 'renews without an answer' = 'none';

  /** The stream of a server that renews Leases without a request. */
  readonly sender = {
    send: async ({ resourceVersion, holder }: Beat, signal: AbortSignal): Promise<string | undefined> => {
      if (this.stream === 'left' || resourceVersion !== String(this.revision)) return undefined;
      this.holder = holder;
      this.revision++;
      if (this.stream === 'renews') return String(this.revision);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    },
  };

  get client(): Client {
    const answer = () => ({ metadata: { resourceVersion: String(this.revision) }, spec: { holderIdentity: this.holder } });
    const resource = {
      get: async () => {
        this.requests++;
        return answer();
      },
      patch: async (_name: string, { patch }: { patch: { metadata?: { resourceVersion: string }; spec: { holderIdentity: string } } }) => {
        this.requests++;
        const expected = patch.metadata?.resourceVersion;
        if (expected !== undefined && expected !== String(this.revision)) throw ApiError.of(409, '');
        this.holder = patch.spec.holderIdentity;
        this.revision++;
        return answer();
      },
    };
    return { resource: () => ({ in: () => resource }) } as unknown as Client;
  }
}

const started = async () => {
  const leases = new Leases();
  const heartbeat = new Heartbeat({
    client: leases.client,
    node: 'n1',
    seconds: 40,
    stream: () => (leases.stream === 'none' ? undefined : leases.sender),
  });
  const beat = (signal = new AbortController().signal): Promise<string> => heartbeat.beat(new Date(0), signal);
  expect([await beat(), await beat()]).toEqual(['alone', 'alone']);
  return { leases, beat };
};

test('another agent that renews the Lease is noticed', async () => {
  const { leases, beat } = await started();
  leases.holder = 'other';
  leases.revision += 5;
  expect([await beat(), await beat()]).toEqual(['shared', 'alone']);
});

test.each([
  ['above the snapshot', 1_000_000_000],
  ['from the start, as etcd does', -90],
])('a control plane that was restored and counts on %s is noticed once, and its Lease may be of an earlier agent', async (_how, leap) => {
  for (const holder of [undefined, 'earlier']) {
    const { leases, beat } = await started();
    leases.revision += leap;
    leases.holder = holder ?? leases.holder;
    expect([await beat(), await beat()]).toEqual(['restored', 'alone']);
  }
});

test('a Lease is renewed through a tunnel without a request', async () => {
  const { leases, beat } = await started();
  leases.stream = 'renews';
  const { requests, revision } = leases;
  expect([await beat(), await beat()]).toEqual(['alone', 'alone']);
  expect(leases).toMatchObject({ requests, revision: revision + 2 });
});

test('a heartbeat that a server leaves to a request is followed by one', async () => {
  const { leases, beat } = await started();
  leases.stream = 'left';
  const { requests } = leases;
  expect([await beat(), await beat()]).toEqual(['alone', 'alone']);
  expect(leases.requests).toBe(requests + 2);
});

test('a heartbeat without an answer fails, and the next one finds out that it was our own', async () => {
  const { leases, beat } = await started();
  leases.stream = 'renews without an answer';
  await expect(beat(AbortSignal.timeout(5))).rejects.toThrow();
  leases.stream = 'none';
  expect([await beat(), await beat()]).toEqual(['alone', 'alone']);
});

test('another agent that renews the Lease, and a restored control plane, are noticed through a tunnel, too', async () => {
  const { leases, beat } = await started();
  leases.stream = 'renews';
  leases.holder = 'other';
  leases.revision += 5;
  expect([await beat(), await beat()]).toEqual(['shared', 'alone']);
  leases.revision += 1_000_000_000;
  expect([await beat(), await beat()]).toEqual(['restored', 'alone']);
});

test('agents renew their Leases at about the same times, and none twice at one of them', () => {
  for (const [now, random, waited] of [
    [100_000, 0, 10_000],
    [100_240, 0, 9_760],
    [100_240, 1, 10_010],
    [104_999, 0, 5_001],
    [106_000, 0, 14_000],
    [109_999, 0, 10_001],
  ] as const)
    expect(
      untilNextBeat(10_000, now, () => random),
      String(now),
    ).toBe(waited);
});
