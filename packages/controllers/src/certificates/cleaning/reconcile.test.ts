import { describe, expect, test } from 'vitest';
import type { RequestCondition, SigningRequest } from '../request.ts';
import { endOf, reconcileAge } from './reconcile.ts';

const made = '2026-01-01T00:00:00Z';
const answered = '2026-01-01T06:00:00Z';
const hour = 3_600_000;

const request = (status: NonNullable<SigningRequest['status']>): SigningRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'r', creationTimestamp: made },
  spec: { request: '', signerName: 's' },
  status,
});
const condition = (type: string): RequestCondition => ({ type, status: 'True', lastUpdateTime: answered });

test.each<[string, NonNullable<SigningRequest['status']>, number | undefined]>([
  ['a day after it was created if it was never answered', {}, Date.parse(made) + 24 * hour],
  ['an hour after it was denied', { conditions: [condition('Denied')] }, Date.parse(answered) + hour],
  ['an hour after it failed', { conditions: [condition('Approved'), condition('Failed')] }, Date.parse(answered) + hour],
  ['an hour after it was approved and signed', { conditions: [condition('Approved')], certificate: 'AAAA' }, Date.parse(answered) + hour],
  ['not yet if it is approved and not signed', { conditions: [condition('Approved')] }, undefined],
])('a request can be deleted %s', (_, status, end) => {
  expect(endOf(request(status))).toBe(end);
});

describe('reconcileAge', () => {
  const end = Date.parse(answered) + hour;
  const denied = request({ conditions: [condition('Denied')] });

  test.each([
    { name: 'deletes a request whose time is over', given: denied, now: end, result: { type: 'done' }, deleted: ['r'] },
    { name: 'waits until then', given: denied, now: end - 5, result: { type: 'requeueAfter', milliseconds: 5 }, deleted: [] },
    {
      name: 'waits an hour at most',
      given: denied,
      now: end - 10 * hour,
      result: { type: 'requeueAfter', milliseconds: hour },
      deleted: [],
    },
    {
      name: 'keeps a request that waits for an answer',
      given: request({ conditions: [condition('Approved')] }),
      now: end,
      result: { type: 'done' },
      deleted: [],
    },
    { name: 'ignores a request that is gone', given: undefined, now: end, result: { type: 'done' }, deleted: [] },
  ])('$name', async ({ given, now, result, deleted }) => {
    const removed: string[] = [];
    const remove = async ({ metadata }: SigningRequest): Promise<void> => void removed.push(metadata.name!);
    expect(await reconcileAge(given, { remove, now: () => now })).toEqual(result);
    expect(removed).toEqual(deleted);
  });
});
