import { expect, test } from 'vitest';
import { limitOptions, logOptions, storedLimits } from './server-options.ts';

test('limits of requests, watches and streams become those of the server', () => {
  const limits = {
    connections: 100,
    connectionsPerOrganization: 50,
    handshakesPerSecond: 70,
    unsentMiB: 2,
    bodiesPerOrganizationMiB: 1,
    requests: { reads: 40, writes: 20, readsPerUser: 10, writesPerUser: 5, agentReads: 30, agentWrites: 15, unfinished: 9, largeKiB: 4 },
    watches: { total: 1000, perOrganization: 300, perWorkspace: 100, perUser: 50, agents: 2000, perAgent: 60 },
    streams: { total: 500, perWorkspace: 80, perUser: 40 },
    objects: { expressions: 10, webhooks: 5 },
    webhooks: { calls: 90, callsPerOrganization: 30, perWorkspace: 40 },
  };
  expect(limitOptions(limits)).toEqual({
    connections: 100,
    connectionsPerTenant: 50,
    handshakes: { perSecond: 70 },
    unsentBytes: { overall: 2 << 20 },
    bodyBytes: { perTenant: 1 << 20 },
    unfinished: { overall: 9 },
    largeBody: 4096,
    readonly: 40,
    mutating: 20,
    perUser: { readonly: 10, mutating: 5 },
    agents: { readonly: 30, mutating: 15 },
    watches: { overall: 1000, perTenant: 300, perLine: 100, perUser: 50, agents: { overall: 2000, perLine: 60 } },
    streams: { overall: 500, perLine: 80, perUser: 40 },
    objects: { expressions: 10, webhooks: 5 },
    webhooks: { calls: { overall: 90, perTenant: 30 }, perWorkspace: 40 },
  });
});

test('limits that are not set keep their defaults', () => {
  expect(limitOptions({})).toEqual({
    perUser: {},
    agents: {},
    unfinished: {},
    unsentBytes: {},
    bodyBytes: {},
    handshakes: {},
    watches: { agents: {} },
    streams: {},
  });
});

test('limits of stored objects become characters', () => {
  expect(storedLimits({ maxStoredMiB: 3, maxStoredPerOrganizationMiB: 4 })).toEqual({ perWorkspace: 3 << 20, perOrganization: 4 << 20 });
  expect(storedLimits({})).toEqual({});
});

test('limits of the log store become bytes and milliseconds', () => {
  expect(logOptions({ directory: '/srv/logs', maxLogMiB: 1, maxWorkspaceMiB: 2, maxTotalMiB: 3, maxAgeDays: 4 })).toEqual({
    directory: '/srv/logs',
    log: 1 << 20,
    workspace: 2 << 20,
    total: 3 << 20,
    age: 345_600_000,
  });
  expect(logOptions({})).toEqual({});
});
