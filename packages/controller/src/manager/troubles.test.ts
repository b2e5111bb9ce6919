import { ApiError, ConnectionError } from '@capstan/client';
import { status } from '@capstan/machinery';
import { beforeEach, describe, expect, it } from 'vitest';
import { LeaseTroubles, Troubles } from './troubles.ts';

let log: string[];
let troubles: Troubles;
beforeEach(() => {
  log = [];
  troubles = new Troubles((line) => log.push(line));
});

const refused = new ConnectionError('failed', 'connect ECONNREFUSED');
const answer = (code: number, { status: body }: { readonly status: ApiError['status'] }): ApiError => new ApiError(body, { code });
const forbidden = answer(403, status.forbidden({ group: '', resource: 'widgets' }, '', 'no'));
const expired = new ApiError(
  { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 410, reason: 'Expired' },
  { code: 410 },
);
const watches = Array.from({ length: 30 }, (_, index) => ({ resource: `kind-${index}`, informer: String(index) }));

describe('an outage of the server', () => {
  it('is reported in two lines, however many watches and requests it interrupts', () => {
    for (let round = 0; round < 5; round++) {
      for (const watch of watches) troubles.watchFailed(refused, watch);
      troubles.requestFailed(refused, 'workspaces root|x');
    }
    for (const watch of watches) troubles.watchFailed(expired, watch);
    for (const watch of watches) troubles.watchRecovered(watch);
    expect(log).toEqual([
      'the API server cannot be used: connect ECONNREFUSED; trying again',
      expect.stringMatching(/^the API server can be used again after \d+s$/),
    ]);
  });
});

describe('a kind that cannot be watched', () => {
  it('is reported by name, whatever else is wrong', () => {
    troubles.watchFailed(refused, watches[0]!);
    for (let round = 0; round < 5; round++) troubles.watchFailed(forbidden, { resource: 'widgets', informer: 'w' });
    troubles.watchRecovered({ resource: 'widgets', informer: 'w' });
    expect(log.slice(1)).toEqual([
      expect.stringMatching(/^widgets cannot be watched: .*; trying again$/),
      expect.stringMatching(/^widgets can be watched again after/),
    ]);
  });
});

it('reports other failures of requests one by one', () => {
  troubles.requestFailed(forbidden, 'quotas root|a/q');
  troubles.requestFailed(new Error('broken'), 'quotas root|a/q');
  expect(log).toEqual([expect.stringMatching(/^quotas root\|a\/q: /), 'quotas root|a/q: broken']);
});

describe('a lease', () => {
  it('is reported with its holder once, and again when that changes', () => {
    const lease = new LeaseTroubles('kube-system/x', { log: (line) => log.push(line), troubles });
    for (let times = 0; times < 10; times++) lease.waiting('first');
    for (let times = 0; times < 10; times++) lease.waiting('second');
    lease.leading();
    expect(log).toEqual(['lease kube-system/x: waiting, held by first', 'lease kube-system/x: waiting, held by second']);
  });

  it('that cannot be renewed is reported with the reason, and again once it can be', () => {
    const lease = new LeaseTroubles('kube-system/x', { log: (line) => log.push(line), troubles });
    for (let times = 0; times < 10; times++) lease.failed(new Error('timed out'));
    lease.reached();
    lease.reached();
    lease.failed(refused);
    expect(log).toEqual([
      'lease kube-system/x: timed out; trying again',
      expect.stringMatching(/^lease kube-system\/x: reached again after/),
      'the API server cannot be used: connect ECONNREFUSED; trying again',
    ]);
  });
});
