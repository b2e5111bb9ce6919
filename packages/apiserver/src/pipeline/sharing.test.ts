import { Agent, request } from 'node:https';
import { expect, it } from 'vitest';
import { createWorkspace, startTestServer } from '../testing/harness.ts';

const configMaps = (workspace: string): string => `/clusters/${workspace}/api/v1/namespaces/default/configmaps`;

it('answers every request of tenants that share the event loop, and leaves nothing waiting', async () => {
  await using server = await startTestServer({ tokens: 'greedy-token,greedy,1,"system:kcp:admin"\ncalm-token,calm,2,"system:kcp:admin"' });
  for (const workspace of ['greedy', 'calm']) {
    await createWorkspace(server, workspace);
    const body = { metadata: { name: 'default' } };
    await server.call(`/clusters/${workspace}/api/v1/namespaces`, { method: 'POST', body });
  }
  const { ca } = server.identity;
  const clientOf = (workspace: string, connections: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections, ca });
    const ask = (method: string, body?: object): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${workspace}-token`, 'content-type': 'application/json' };
        const outgoing = request(`${server.url}${configMaps(workspace)}`, { agent, method, headers });
        outgoing.on('error', reject);
        outgoing.on('response', (incoming) => incoming.resume().on('end', () => resolve(incoming.statusCode!)));
        outgoing.end(body && JSON.stringify(body));
      });
    return { ask, [Symbol.dispose]: () => agent.destroy() };
  };
  using greedy = clientOf('greedy', 24);
  using calm = clientOf('calm', 1);
  const small = { metadata: { generateName: 'small-' } };
  const long = { metadata: { generateName: 'long-' }, data: { text: 'x'.repeat(300_000) } };
  const flood = Promise.all(
    Array.from({ length: 24 }, async (_, client) => {
      const codes: number[] = [];
      for (let index = 0; index < 20; index++) codes.push(await greedy.ask('POST', (client + index) % 12 === 0 ? long : small));
      return codes;
    }),
  );
  const calmly: number[] = [];
  for (let index = 0; index < 60; index++) calmly.push(await calm.ask('POST', small));
  const codes = (await flood).flat();
  expect([new Set(calmly), new Set(codes), codes.length]).toEqual([new Set([201]), new Set([201]), 480]);
  const { text } = await server.call('/metrics');
  const gauge = (name: string): string | undefined => new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
  expect([gauge('capstan_work_waiting'), gauge('capstan_connections_waiting')]).toEqual(['0', '0']);
}, 60_000);
