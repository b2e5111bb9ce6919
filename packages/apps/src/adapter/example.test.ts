import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type App, appKind, type NodeScript, type NodeTask, newObject, nodeScriptKind, nodeTaskKind } from '@capstan/api';
import { computeProduct } from '@capstan/compute';
import { PretendFleet } from '@capstan/compute/testing';
import { fleet } from '@capstan/fleet';
import { pretendAgents } from '@capstan/fleet/testing';
import { startCloud } from '@capstan/platform/testing';
import { expect, test, vi } from 'vitest';
import { appsProduct } from '../product.ts';
import { TenantApps } from '../testing/tenant-apps.ts';

const patience = { timeout: 20_000, interval: 50 };

/** The adapter of the guide, as a process of its own. */
const accountKind = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };

async function startAdapter(): Promise<{ readonly url: string } & AsyncDisposable> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../examples/greeting-adapter.mjs')], {
    env: { PORT: '0', TOKEN: 'hunter2' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  return {
    url: line.replace('listening on ', ''),
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

test('the adapter of the guide deploys a web service, and its App says what it may do', async () => {
  await using adapter = await startAdapter();
  const readOutput = async () => ({ kind: 'read', text: '' }) as const;
  await using cloud = await startCloud({
    products: [{ ...fleet, controllers: [] }, computeProduct({ explainEvery: 30 }), appsProduct({ adapters: [], readOutput })],
  });
  const { platform } = cloud;
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'greeting', namespace: 'apps' }, stringData: { token: 'hunter2' } };
  await vi.waitFor(() => platform.resource({ group: '', version: 'v1', resource: 'secrets', namespaced: true }).create(secret), patience);
  for (const name of ['greeting-prepare', 'greeting-probe', 'greeting-remove']) {
    const script = newObject(nodeScriptKind, { metadata: { name }, spec: { content: '#!/bin/sh\n' } });
    await platform.resource<NodeScript>(nodeScriptKind).create(script as NodeScript);
  }
  const app = newObject(appKind, {
    metadata: { name: 'greeting' },
    spec: {
      displayName: 'A greeting',
      support: 'community',
      adapter: { url: adapter.url, secretName: 'greeting' },
      versions: [{ name: '1' }],
      placement: {
        type: 'object',
        required: ['allocation_ids'],
        properties: { allocation_ids: { type: 'array', items: { type: 'string', format: 'allocation' } } },
      },
      parameters: { type: 'object', properties: { text: { type: 'string' } } },
      components: [{ name: 'server', title: 'Web servers', minimum: 1 }],
      permitted: {
        scripts: [{ name: 'greeting-prepare' }, { name: 'greeting-probe' }, { name: 'greeting-remove' }],
        paths: ['/srv/greeting'],
        services: ['greeting'],
        commands: ['/usr/bin/python3'],
      },
    },
  });
  await platform.resource<App>(appKind).create(app as App);
  await new PretendFleet(platform).makePool('metal', { nodes: 2, exclusive: true });
  await using _agents = pretendAgents(platform);
  const apps = new TenantApps(cloud.tenants[0]!.client);
  for (const name of ['a', 'b']) await apps.allocate(name, 'metal');
  await apps.create('hello', { app: 'greeting', placement: { allocation_ids: ['a', 'b'] }, parameters: { text: 'Good day' } });
  await vi.waitFor(async () => expect((await apps.get('hello')).status).toMatchObject({ state: 'running', health: 'healthy' }), patience);
  const { items } = await platform.resource<NodeTask>(nodeTaskKind).list();
  expect(items.flatMap(({ spec }) => spec.fileWrite?.content ?? [])).toEqual(['<h1>Good day</h1>\n', '<h1>Good day</h1>\n']);
  expect((await apps.get('hello')).status?.access?.endpoints).toHaveLength(2);
  // It got a token of the account of the instance, which ends with it.
  const { uid } = (await apps.get('hello')).metadata;
  const accounts = async () => (await platform.resource(accountKind).in('apps').list()).items.map(({ metadata }) => metadata.name);
  expect(await accounts()).toContain(uid);
  await platform.resource<App>(appKind).patch('greeting', { type: 'merge', patch: { spec: { permitted: { paths: ['/opt'] } } } });
  await apps.change('hello', { parameters: { text: 'Good night' } });
  await vi.waitFor(
    async () =>
      expect((await apps.get('hello')).status?.lastErrors).toMatchObject([
        { code: 'PlanRefused', message: expect.stringContaining('the App does not permit the path /srv/greeting/index.html') },
      ]),
    patience,
  );
  await apps.instances().delete('hello');
  await vi.waitFor(async () => expect(await apps.isGone('hello')).toBe(true), patience);
  expect(await accounts()).not.toContain(uid);
}, 90_000);
