import { expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

const path = '/apis/flowcontrol.apiserver.k8s.io/v1';

async function dangling(server: TestServer, name: string): Promise<unknown> {
  const { status } = (await server.call(`${path}/flowschemas/${name}`)).json() as { status?: { conditions?: Record<string, string>[] } };
  return status?.conditions?.map(({ type, status: is, reason, message }) => [type, is, reason, message]);
}

test('a FlowSchema reports whether its priority level exists', async () => {
  await using server = await startTestServer();
  const named = 'This FlowSchema references the PriorityLevelConfiguration object named';
  await expect.poll(() => dangling(server, 'catch-all')).toEqual([['Dangling', 'False', 'Found', `${named} "catch-all" and it exists`]]);
  await server.call(`${path}/flowschemas`, {
    method: 'POST',
    body: { metadata: { name: 'mine' }, spec: { priorityLevelConfiguration: { name: 'later' } } },
  });
  await expect
    .poll(() => dangling(server, 'mine'))
    .toEqual([['Dangling', 'True', 'NotFound', `${named} "later" but there is no such object`]]);
  const limited = { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } };
  await server.call(`${path}/prioritylevelconfigurations`, {
    method: 'POST',
    body: { metadata: { name: 'later' }, spec: { type: 'Limited', limited } },
  });
  await expect.poll(() => dangling(server, 'mine')).toEqual([['Dangling', 'False', 'Found', `${named} "later" and it exists`]]);
});

test('the server owns only the condition that it applies, and status writes change no metadata', async () => {
  await using server = await startTestServer();
  const mine = `${path}/flowschemas/mine`;
  const spec = { priorityLevelConfiguration: { name: 'catch-all' } };
  await server.call(`${path}/flowschemas`, { method: 'POST', body: { metadata: { name: 'mine' }, spec } });
  await expect.poll(() => dangling(server, 'mine')).toHaveLength(1);
  const condition = { type: 'Mine', status: 'True', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const patch = [
    { op: 'add', path: '/status/conditions/-', value: condition },
    { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
  ];
  const headers = { 'content-type': 'application/json-patch+json' };
  const { metadata } = (await server.call(`${mine}/status`, { method: 'PATCH', headers, body: patch })).json();
  expect(metadata).not.toHaveProperty('labels');
  expect(metadata.managedFields?.find(({ operation }) => operation === 'Apply')).toMatchObject({
    subresource: 'status',
    fieldsV1: { 'f:status': { 'f:conditions': { 'k:{"type":"Dangling"}': { 'f:reason': {} } } } },
  });
  expect(await dangling(server, 'mine')).toHaveLength(2);
});
