import { expect, test } from 'vitest';
import { endOf } from './cleaning.ts';
import type { RequestCondition, SigningRequest } from './request.ts';

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
  ['nobody answered: a day', {}, Date.parse(made) + 24 * hour],
  ['denied: an hour after', { conditions: [condition('Denied')] }, Date.parse(answered) + hour],
  ['failed: an hour after', { conditions: [condition('Approved'), condition('Failed')] }, Date.parse(answered) + hour],
  ['issued: an hour after', { conditions: [condition('Approved')], certificate: 'AAAA' }, Date.parse(answered) + hour],
  ['approved, not yet signed: it waits', { conditions: [condition('Approved')] }, undefined],
])('%s', (_, status, end) => {
  expect(endOf(request(status))).toBe(end);
});
