import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeMetrics } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runAgent } from '../agent.ts';

let server: TestServer;
let directory: string;
const stop = new AbortController();
let ended: Promise<unknown>;
const metrics = `${fleetPath}/gpunodes/m1/metrics`;
const patience = { timeout: 15_000, interval: 20 };

beforeAll(async () => {
  server = await startTestServer();
  await createPlatform(server);
  directory = mkdtempSync(join(tmpdir(), 'capstan-metrics-'));
  writeFileSync(join(directory, 'gpus.yaml'), 'gpus:\n  - {model: H100, count: 2, memory: 80Gi}\n');
  const authorityHash = certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8'));
  ended = runAgent({
    stateDirectory: directory,
    join: { server: server.url, token: await invite(server, 'm1'), authorityHash },
    handlers: {},
    units: { drivers: [] },
    limits: { grace: 50 },
    signal: stop.signal,
    log: () => {},
  });
});
afterAll(async () => {
  stop.abort();
  await ended;
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

test('gpunodes/metrics come from the agent, for those with the right on the subresource', async () => {
  await vi.waitFor(async () => {
    const { gpus } = (await server.call(metrics)).json() as unknown as NodeMetrics;
    expect(gpus.map(({ model, health, memoryBytes }) => [model, health, memoryBytes])).toEqual(
      Array(2).fill(['H100', 'Healthy', 80 * 2 ** 30]),
    );
  }, patience);
  const range = (await server.call(`${metrics}?from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z`)).json() as unknown as NodeMetrics;
  expect(range.gpus[0]).toMatchObject({ points: [] });
  expect((await server.call(`${metrics}?step=x`)).json().message).toContain('step: expected a duration');
  expect((await server.call(metrics, { method: 'PUT', body: {} })).code).toBe(405);
  const as = { 'impersonate-user': 'eve', 'impersonate-group': 'system:authenticated' };
  expect((await server.call(metrics, { headers: as })).code).toBe(403);
});

test('a node that is not connected is named', async () => {
  stop.abort();
  await ended;
  await vi.waitFor(async () => {
    const reply = await server.call(metrics);
    expect([reply.code, reply.json().message]).toEqual([
      503,
      expect.stringContaining('gpunodes/metrics needs the node of m1, which is not connected'),
    ]);
  }, patience);
  expect((await server.call(`${fleetPath}/gpunodes/none/metrics`)).code).toBe(404);
});
