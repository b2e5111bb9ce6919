import type { GPUNode } from '@capstan/api';
import { startTestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath } from '@capstan/apiserver/testing-fleet';
import { expect, test } from 'vitest';
import { timeOfRequest, upgradeNodes } from './node-upgrade.ts';

const now = Date.parse('2026-01-01T00:00:00.500Z');

test.each([
  [undefined, '2026-01-01T00:00:00Z'],
  ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
  ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'],
  ['2026-01-01T00:00:05Z', '2026-01-01T00:00:06Z'],
])('after a request at %s, the next one is at %s', (requestedAt, expected) => {
  const node = { metadata: {}, spec: { agent: requestedAt === undefined ? {} : { requestedAt } } } as GPUNode;
  expect(timeOfRequest(node, now)).toBe(expected);
});

test('an agent that cannot replace itself is named before anybody waits for an archive', async () => {
  await using server = await startTestServer();
  await createPlatform(server);
  const path = `${fleetPath}/gpunodes`;
  const body = { apiVersion: 'fleet.capstan.dev/v1alpha1', kind: 'GPUNode', metadata: { name: 'n1' } };
  expect((await server.call(path, { method: 'POST', body })).code).toBe(201);
  const machine = {
    hostname: 'n1',
    cpus: 1,
    memoryBytes: 1,
    os: 'x',
    kernel: 'x',
    architecture: 'amd64',
    agentVersion: '1',
    upgradable: false,
  };
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patched = await server.call(`${path}/n1/status`, { method: 'PATCH', headers, body: { status: { machine } } });
  expect(patched.code, patched.text).toBe(200);
  await expect(upgradeNodes('n1', { kubeconfig: server.kubeconfigPath })).rejects.toThrow('the agent of n1 was not installed');
  expect(((await server.call(`${path}/n1`)).json() as GPUNode).spec?.agent).toBeUndefined();
});
