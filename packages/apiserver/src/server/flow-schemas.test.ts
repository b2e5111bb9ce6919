import { expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

const path = '/apis/flowcontrol.apiserver.k8s.io/v1';

async function dangling(server: TestServer, name: string): Promise<unknown> {
  const { status } = (await server.call(`${path}/flowschemas/${name}`)).json() as { status?: { conditions?: Record<string, string>[] } };
  return status?.conditions?.map(({ type, status: is, reason, message }) => [type, is, reason, message]);
}

test('a FlowSchema says whether its priority level is there', async () => {
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
