import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type AppInstance,
  type AppMember,
  appAccessDirectory,
  appInstanceKind,
  appMemberKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  newObject,
  nodeBookingKind,
  platformWorkspace,
} from '@capstan/api';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery';
import { buildCapstan, Child, capstanProgram, freePort, run, TestAuthority, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

const project = 'root:main:default';
const patience = { timeout: 60_000, interval: 200 };
/** Mounts another list of accounts for the servers and the agent, if this user may do that. */
const isRoot = process.getuid?.() === 0;

/**
 * The whole way of users to an instance: command line, API server, tunnel, agent. The API server itself is the Kubernetes API of the instance: it knows impersonation and has the groups
 * of the platform, as a cluster of an adapter has.
 */
await describeWith(['kubectl', 'openssl'], 'access to apps', ({ kubectl }) => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('apps'));
  const data = directory.join('data');
  const kubeconfig = directory.join('kubeconfig');
  let client: Client;
  let port: number;
  let node: string;
  let instanceFolder: string;

  const capstan = (...args: string[]) =>
    run(process.execPath, [capstanProgram, ...args], { environment: { KUBECONFIG: kubeconfig, HOME: directory.path }, timeout: 60_000 });
  const cluster = (args: readonly string[], file: string) =>
    run(kubectl, ['--kubeconfig', file, ...args], { environment: { HOME: directory.path } });
  const pki = (name: string): string => resolve(data, 'pki', name);

  beforeAll(async () => {
    await buildCapstan();
    port = await freePort();
    const up = new Child('capstan up', [
      ...withAccount(),
      process.execPath,
      capstanProgram,
      'up',
      '--data-dir',
      data,
      '--port',
      String(port),
    ]);
    stack.defer(() => up.stop());
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    writeFileSync(kubeconfig, readFileSync(`${data}/admin.kubeconfig`));
    client = stack.use(new Client(connectionOf(loadKubeconfig({ path: kubeconfig }))));
    await vi.waitFor(async () => expect((await capstan('ws', 'use', project)).code).toBe(0), patience);
    await vi.waitFor(async () => expect((await capstan('app', 'list')).code).toBe(0), patience);
    const nodes = client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind);
    await vi.waitFor(async () => expect((node = (await nodes.list()).items[0]?.metadata.name ?? '')).not.toBe(''), patience);
    await suspendControllers();
    instanceFolder = await createInstance();
  });
  afterAll(() => stack.disposeAsync());

  /** The instance has no allocation, so the controllers would take its node away. */
  async function suspendControllers(): Promise<void> {
    const { stdout } = await capstan('status', '--data-dir', data, '--output', 'json');
    const { processes } = JSON.parse(stdout) as { processes: { name: string; pid: number }[] };
    const { pid } = processes.find(({ name }) => name === 'platform-controllers')!;
    process.kill(pid, 'SIGSTOP');
    stack.defer(() => void process.kill(pid, 'SIGCONT'));
  }

  /** A command that runs another one with an account for the user, which only that sees. */
  function withAccount(): string[] {
    if (!isRoot) return [];
    const accounts = directory.join('passwd');
    writeFileSync(accounts, `${readFileSync('/etc/passwd', 'utf8')}kubernetes-admin:*:4711:4711::/:/bin/sh\n`);
    return ['unshare', '--mount', 'sh', '-c', `mount --bind ${accounts} /etc/passwd && exec "$@"`, 'sh'];
  }

  /** An instance with one member on the node of this machine, as the platform leaves it after a deployment. */
  async function createInstance(): Promise<string> {
    const tenant = client.cluster(project);
    const instances = tenant.resource<AppInstance>(appInstanceKind).in('default');
    const metadata = { name: 'k1', namespace: 'default' };
    const spec = { app: 'k3s', placement: { server_allocation_id: 'a' } };
    const made = await instances.create(newObject(appInstanceKind, { metadata, spec } as never) as unknown as AppInstance);
    const status = { state: 'running', health: 'healthy', access: { kubeconfig: true, shell: 'k1-a' } };
    await instances.patch('k1', { type: 'merge', patch: { status } as JsonObject }, { subresource: 'status' });
    const member = { instance: 'k1', component: 'server', allocation: 'a', node };
    const ofMember = { name: 'k1-a', namespace: 'default' };
    await tenant
      .resource<AppMember>(appMemberKind)
      .in('default')
      .create(newObject(appMemberKind, { metadata: ofMember, spec: member } as never) as unknown as AppMember);
    await book(made);
    const { uid = '' } = made.metadata;
    const folder = resolve(appAccessDirectory, uid);
    mkdirSync(folder, { recursive: true });
    stack.defer(() => {
      execFileSync('rm', ['-rf', folder]);
      execFileSync('rmdir', ['--parents', '--ignore-fail-on-non-empty', appAccessDirectory]);
    });
    const authority = TestAuthority.of(
      { certificate: readFileSync(pki('ca.crt'), 'utf8'), key: readFileSync(pki('ca.key'), 'utf8') },
      folder,
    );
    const credentials = await authority.issue('/O=system:masters/CN=cluster-agent');
    writeFileSync(`${folder}/agent.crt`, credentials.certificate);
    writeFileSync(`${folder}/agent.key`, credentials.key, { mode: 0o600 });
    const files = { authorityFile: pki('ca.crt'), certificateFile: `${folder}/agent.crt`, keyFile: `${folder}/agent.key` };
    writeFileSync(`${folder}/access.json`, JSON.stringify({ port, ...files, shell: true }));
    return folder;
  }

  async function book(instance: AppInstance): Promise<void> {
    const bookings = client.cluster(platformWorkspace).resource<NodeBooking>(nodeBookingKind);
    const cluster = instance.metadata.annotations?.['kcp.io/cluster'] ?? '';
    const allocation = { cluster, namespace: 'default', name: 'a', uid: 'uid-of-a' };
    const entry = { allocation, attempt: '1', state: 'Granted', exclusive: true, devices: [], cpu: 0, memory: 0 };
    const spec = { entries: [entry] };
    const known = await bookings.get(node).catch(() => undefined);
    if (known !== undefined) await bookings.patch(node, { type: 'merge', patch: { spec } as JsonObject });
    else await bookings.create(newObject(nodeBookingKind, { metadata: { name: node }, spec } as never) as unknown as NodeBooking);
  }

  test('the command line shows the instance and its members', async () => {
    expect((await capstan('app', 'catalog')).stdout).toMatch(/^k3s /m);
    expect((await capstan('app', 'list')).stdout).toMatch(/^k1 +k3s +running/m);
    expect((await capstan('app', 'status', 'k1')).stdout).toContain('capstan app kubeconfig k1');
    expect((await capstan('app', 'members', 'k1')).stdout).toMatch(new RegExp(`^k1-a +server +${node}`, 'm'));
  });

  describe('kubectl with the kubeconfig of the instance', () => {
    test('reads and writes as the user, an administrator of the cluster', async () => {
      const file = directory.join('cluster');
      expect(await capstan('app', 'kubeconfig', 'k1', '--file', file)).toMatchObject({ code: 0 });
      const { code, stdout, stderr } = await cluster(['auth', 'whoami', '-o', 'json'], file);
      expect([code, stderr]).toEqual([0, '']);
      expect(JSON.parse(stdout)).toMatchObject({
        status: { userInfo: { username: 'kubernetes-admin', groups: expect.arrayContaining(['capstan:admins']) } },
      });
      const roles = ['create', 'clusterrolebinding', 'apps-admins', '--clusterrole=cluster-admin', '--group=capstan:admins'];
      expect((await run(kubectl, ['--kubeconfig', `${data}/admin.kubeconfig`, ...roles])).code).toBe(0);
      expect(await cluster(['create', 'namespace', 'made-through-proxy'], file)).toMatchObject({ code: 0 });
      expect((await cluster(['get', 'namespaces'], file)).stdout).toContain('made-through-proxy');
    });

    test('follows a watch', async () => {
      const file = directory.join('cluster');
      const watching = new Child('kubectl', [kubectl, '--kubeconfig', file, 'get', 'configmaps', '--watch', '-n', 'made-through-proxy']);
      try {
        await cluster(['create', 'configmap', 'seen', '-n', 'made-through-proxy'], file);
        await watching.waitUntil('sees it', () => watching.output.includes('seen'));
      } finally {
        await watching.stop();
      }
    });

    test('is a context of the own kubeconfig', async () => {
      expect((await capstan('app', 'kubeconfig', 'k1', '--merge')).code).toBe(0);
      expect((await cluster(['--context', 'k1', 'get', 'namespaces'], kubeconfig)).stdout).toContain('made-through-proxy');
    });
  });

  test.skipIf(!isRoot)('a shell runs commands as the account of the user', async () => {
    expect(await capstan('app', 'shell', 'k1', '--', 'sh', '-c', 'id -un; pwd; exit 3')).toEqual({
      code: 3,
      stderr: '',
      stdout: 'kubernetes-admin\n/\n',
    });
  });

  test('an instance that the node knows nothing of any more is refused with the reason', async () => {
    execFileSync('rm', ['-f', `${instanceFolder}/access.json`]);
    const { code, stderr } = await cluster(['get', 'namespaces'], directory.join('cluster'));
    expect([code, stderr]).toEqual([1, expect.stringContaining('this node has no part in this instance')]);
  });
});
