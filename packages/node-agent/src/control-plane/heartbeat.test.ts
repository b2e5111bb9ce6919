import { ApiError, type Client } from '@capstan/client';
import { expect, test } from 'vitest';
import { Heartbeat, untilNextBeat } from './heartbeat.ts';

/** A control plane with one Lease, which others may renew or restore. */
class Leases {
  revision = 100;
  holder: string | undefined;

  get client(): Client {
    const answer = () => ({ metadata: { resourceVersion: String(this.revision) }, spec: { holderIdentity: this.holder } });
    const resource = {
      get: async () => answer(),
      patch: async (_name: string, { patch }: { patch: { metadata?: { resourceVersion: string }; spec: { holderIdentity: string } } }) => {
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
  const heartbeat = new Heartbeat({ client: leases.client, node: 'n1', seconds: 40 });
  const beat = (): Promise<string> => heartbeat.beat(new Date(0), new AbortController().signal);
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
