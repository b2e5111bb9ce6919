import { startCapstan, startEtcd } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';
import { ApiClient } from './apiserver-client.ts';

await describeWith(['etcd'], 'an API server that loses etcd', () => {
  test('reports it once, however many requests fail, and reports when it is back', async () => {
    await using etcd = await startEtcd();
    await using server = await startCapstan({ store: 'etcd', etcd });
    using client = new ApiClient(server.kubeconfig);
    const { child } = server;
    const make = async (name: string): Promise<number> =>
      (await client.ask('POST', '/api/v1/namespaces', { type: 'application/json', value: { metadata: { name } } })).status;
    expect(await make('before')).toBe(201);
    const start = child.output.length;
    const said = (): string[] => child.output.slice(start).split('\n').filter(Boolean);
    await etcd.stop();
    // Nobody has sent a request yet.
    await child.waitUntil('a report of the outage', () => said().length > 0);
    const failed = await Promise.all(Array.from({ length: 20 }, (_, index) => make(`during-${index}`)));
    expect(failed.filter((status) => status < 500)).toEqual([]);
    await etcd.restart(0);
    await child.waitUntil('a report of its end', () => child.output.includes('the store works again'));
    await child.waitUntil('writing again', async () => (await make('after')) === 201);
    expect(said()).toEqual([
      expect.stringMatching(/^the store fails: .*etcd.*; trying again/),
      expect.stringMatching(/^the store works again after \d+s$/),
    ]);
  });
});
