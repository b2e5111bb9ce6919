import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { head, Tenants } from './fairness-tenants.ts';

const configMaps = (cluster: string): string => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

describe('unfinished requests in many workspaces of one organization', () => {
  let tenants: Tenants;
  beforeAll(async () => {
    tenants = await Tenants.start({ limits: { mutating: 12, readonly: 12, unfinished: { overall: 40, perTenant: 20 } } });
  });
  afterAll(() => tenants[Symbol.asyncDispose]());

  test('take no place from another organization, and are limited themselves', async () => {
    const children = Array.from({ length: 6 }, (_, index) => `child-${index}`);
    for (const child of children) await tenants.make(child, { owner: 'mallory', parent: 'attacker' });
    const headers = { authorization: 'Bearer mallory-token', 'content-type': 'application/json', 'content-length': 100 };
    const sockets = await Promise.all(
      children.flatMap((child) => Array.from({ length: 5 }, () => tenants.dial(`${head('POST', configMaps(child), headers)}{`))),
    );
    let rejected = 0;
    for (const socket of sockets)
      socket.on('data', (chunk: Buffer) => (rejected += chunk.toString().startsWith('HTTP/1.1 429') ? 1 : 0)).resume();
    for (let index = 0; index < 30; index++) {
      const { status } = await tenants.ask('alice', configMaps('victim'), { method: 'POST', body: configMap(`during-${index}`) });
      expect(status).toBe(201);
    }
    await expect.poll(() => rejected).toBe(10);
  });
});
