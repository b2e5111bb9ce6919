import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace, startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { create, current, list, tree, use } from './ws.ts';

let server: TestServer;
let kubeconfig: string;
let output: string[];

beforeAll(async () => {
  server = await startTestServer();
  await createWorkspace(server, 'aaaa');
  const metadata = { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': 'root:organization' } };
  const organization = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata };
  await server.call('/clusters/org/apis/core.kcp.io/v1alpha1/logicalclusters', { method: 'POST', body: organization });
});
afterAll(() => server[Symbol.asyncDispose]());

beforeEach(() => {
  kubeconfig = join(server.directory, 'own.kubeconfig');
  writeFileSync(kubeconfig, readFileSync(server.kubeconfigPath));
  output = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => output.push(String(line).trim()) > 0);
  return () => void vi.restoreAllMocks();
});

/** Points the kubeconfig at a path without checking it. */
function standAt(path: string): void {
  const text = readFileSync(kubeconfig, 'utf8');
  writeFileSync(kubeconfig, text.replaceAll(/(server: "?https:\/\/[^/"\s]+)(\/clusters\/[^"\s]+)?/g, `$1/clusters/${path}`));
}

test('shows the name of the user for a home workspace, not its id', async () => {
  await use('~', { kubeconfig });
  await current({ kubeconfig });
  await list(undefined, { kubeconfig });
  await tree(undefined, { kubeconfig });
  const home = 'user:kubernetes-admin';
  expect(output).toEqual([`Current workspace is ${home}.`, home, `There are no workspaces in ${home}.`, home]);
});

test.each([
  ['root:gone', '..', 'root'],
  ['root:gone:deeper:still', '..', 'root'],
  ['aaaa:gone:deeper', '..', 'aaaa'],
  ['aaaa:gone:deeper', '..:..', 'aaaa'],
  ['zzzz', '..', 'root'],
])('from %s, which does not exist, %s switches to the nearest existing workspace', async (here, target, expected) => {
  standAt(here);
  await use(target, { kubeconfig });
  expect(output).toEqual([
    `Workspace ${here} does not exist, or you have no access to it. Switching to the nearest workspace above it.`,
    `Current workspace is ${expected}.`,
  ]);
  expect(readFileSync(kubeconfig, 'utf8')).toContain(`/clusters/${expected}`);
});

test('from a missing workspace, any other path is followed as given, or fails', async () => {
  standAt('root:gone');
  await expect(use('..:other', { kubeconfig })).rejects.toThrow('there is no workspace root:other');
  await use('root', { kubeconfig });
  expect(output).toEqual(['Current workspace is root.']);
});

// Without controllers nothing becomes ready, so it gives up at once.
test.each([
  ['root', undefined, 'organization'],
  ['org', undefined, 'project'],
  ['org', 'team', 'team'],
  ['org', 'root:universal', 'universal'],
])('a workspace in %s, with --type %s, is of type %s', async (parent, type, expected) => {
  standAt(parent);
  const name = `made-${type?.replace(':', '-') ?? 'plainly'}`;
  await expect(create(name, { kubeconfig, timeout: -1, ...(type !== undefined && { type }) })).rejects.toThrow('still in progress');
  const found = await server.call(`/clusters/${parent}/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`);
  expect(found.json()).toMatchObject({ spec: { type: { name: expected, path: 'root' } } });
});
