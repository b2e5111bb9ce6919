import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FakeKubelet } from '@capstan/streams/testing';
import { type RunningCapstan, readConnection, startCapstan, TestAuthority, temporaryDirectory } from '@capstan/testbed';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from './apiserver-client.ts';

const namespace = '/api/v1/namespaces/default';
const stack = new AsyncDisposableStack();
let server: RunningCapstan;
let kubelet: FakeKubelet;

beforeAll(async () => {
  server = stack.use(await startCapstan({ store: 'sqlite', openFiles: 256 }));
  const pki = (name: string): string => readFileSync(join(server.dataDirectory, 'pki', name), 'utf8');
  const identities = stack.use(temporaryDirectory('kubelet'));
  const authority = TestAuthority.of({ certificate: pki('ca.crt'), key: pki('ca.key') }, identities.path);
  kubelet = stack.use(
    await FakeKubelet.start({ ...(await authority.issue('/CN=kubelet', ['127.0.0.1'])), authority: authority.certificate }),
  );
  using admin = new ApiClient(server.kubeconfig);
  const send = async (method: string, path: string, type: string, value: object): Promise<void> => {
    const { status, body } = await admin.ask(method, path, { type, value });
    if (status > 201) throw new Error(body);
  };
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
  };
  await send('POST', '/api/v1/nodes', 'application/json', { metadata: { name: 'n1' } });
  await send('PATCH', '/api/v1/nodes/n1/status', 'application/merge-patch+json', { status });
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'x' }] };
  await send('POST', `${namespace}/pods`, 'application/json', { metadata: { name: 'web' }, spec });
});
afterAll(() => stack.disposeAsync());

/** Follows a log on a connection of its own. */
function follow(): Promise<IncomingMessage> {
  const { host, port, ca, certificate: cert, key } = readConnection(server.kubeconfig);
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, ca, cert, key, agent: false, path: `${namespace}/pods/web/log?follow=true` }, resolve);
    asked.on('error', reject);
    asked.end();
  });
}

test('streams that would use up all files of the process are refused, and other requests are served', async () => {
  const open: IncomingMessage[] = [];
  let refused: IncomingMessage | undefined;
  while (refused === undefined && open.length < 150) {
    const response = await follow();
    if (response.statusCode === 200) open.push(response.on('error', () => {}));
    else refused = response;
  }
  expect([refused?.statusCode, refused?.headers['retry-after']]).toEqual([429, '1']);
  expect(JSON.parse(await text(refused!))).toMatchObject({
    message: `the server has ${open.length} connections to nodes open, and its limit of open files allows no more; try again later, or raise that limit`,
  });
  expect(open.length).toBeGreaterThan(10);
  // Connections of clients and of streams are left enough.
  for (let index = 0; index < 20; index++) {
    using client = new ApiClient(server.kubeconfig);
    const value = { metadata: { name: `beside-streams-${index}` } };
    expect(await client.ask('POST', `${namespace}/configmaps`, { type: 'application/json', value })).toMatchObject({ status: 201 });
  }
  open.pop()!.destroy();
  const statusOfAnother = async (): Promise<number | undefined> => {
    const response = (await follow()).on('error', () => {});
    open.push(response);
    return response.statusCode;
  };
  await expect.poll(statusOfAnother).toBe(200);
  for (const response of open) response.destroy();
  expect(server.child.running).toBe(true);
});
