import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Host, requireTool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startClusterPlatform } from './cluster-platform.ts';
import { clusterProblem } from './kubernetes-hosts.ts';
import { type AppPlatform, project } from './platform.ts';

const program = 'k3s';
const halfWay = { timeout: 90_000, interval: 20 };

describeUnless(await clusterProblem(), 'a self-managed cluster of k3s', () => {
  const owned = new AsyncDisposableStack();
  let hosts: ReadonlyMap<string, Host>;
  /** The node of each allocation. */
  const nodes: Record<string, string> = {};
  let platform: AppPlatform;

  beforeAll(async () => {
    ({ platform, hosts } = await startClusterPlatform(owned, program, ['gpu-1', 'gpu-2']));
    await Promise.all(['first', 'second'].map(async (name) => (nodes[name] = await platform.allocate(name))));
  });
  afterAll(() => owned.disposeAsync());

  const host = (allocation: string): Host => hosts.get(nodes[allocation]!)!;
  /** The process of a server whose etcd has a log, but may have nothing in it yet: without a remedy it would never start again. */
  const serverProcess = async (): Promise<number> => {
    expect(existsSync(host('first').path('/var/lib/rancher/k3s/server/db/etcd/member/wal'))).toBe(true);
    const { code, stdout } = await host('first').run(['pgrep', '-of', '^/usr/local/bin/k3s server']);
    expect(code).toBe(0);
    return Number(stdout);
  };
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await host('first').run(['k3s', 'kubectl', ...args], { timeout: 60_000 });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };

  test('is not deployed on a node that has files of an earlier cluster, and says which', async () => {
    host('first').write('/etc/rancher/node/password', 'of an earlier cluster');
    await platform.deploy('lab', { app: program, placement: { server_allocation_id: 'first', agent_allocation_ids: ['second'] } });
    const { status } = await platform.status('lab', { lastErrors: [{ code: 'LeftoverState' }] });
    expect(status?.lastErrors?.[0]?.output).toContain('/etc/rancher/node/password');
    await host('first').run(['rm', '-r', '/etc/rancher']);
  });

  test('is deployed when the cause is gone, though the server is killed on the way', async () => {
    await vi.waitFor(async () => {
      const { status } = await platform.instances().get('lab');
      if (status?.lastOperation?.state === 'failed') await platform.retry('lab');
      // The node agent starts the service again.
      await host('first').kill(await serverProcess());
    }, halfWay);
    await platform.status('lab', { state: 'running', phase: 'ready', health: 'healthy', members: { total: 2, healthy: 2 } });
    expect(await kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}')).toBe('True True');
  }, 300_000);

  test('runs a pod, through the platform and without a route to the nodes', async () => {
    const kubeconfig = platform.file('cluster.kubeconfig', await platform.run('app', 'kubeconfig', 'lab'));
    const outside = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await platform.network.run([await requireTool('kubectl'), '--kubeconfig', kubeconfig, ...args]);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
      return stdout.trim();
    };
    expect(await outside('get', 'nodes', '-o', 'name')).toBe('node/gpu-1\nnode/gpu-2');
    expect(await outside('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.groups}')).toContain('capstan:admins');
    const overrides = JSON.stringify({ spec: { terminationGracePeriodSeconds: 0 } });
    const image = ['--image=capstan.test/busybox:1', '--image-pull-policy=Never', `--overrides=${overrides}`];
    await outside('run', 'web', ...image, '--command', '--', 'sleep', '100000');
    await outside('wait', '--for=condition=Ready', 'pod/web', '--timeout=45s');
    expect(await outside('exec', 'web', '--', 'hostname')).toBe('web');
    const ann = await platform.addUser('ann');
    const lab = `/clusters/${project}/apis/apps.capstan.dev/v1alpha1/namespaces/default/appinstances/lab`;
    const path = `${lab}/proxy/api/v1/namespaces/default/pods/web`;
    const own = await platform.network.run([await requireTool('kubectl'), '--kubeconfig', ann, 'get', '--raw', path]);
    expect(JSON.parse(own.stdout || '{}'), own.stderr).toMatchObject({ metadata: { name: 'web' } });
  });

  test('has a kubeconfig of its own for emergencies, with a certificate that names the user and expires soon', async () => {
    const text = await platform.run('app', 'kubeconfig', 'lab', '--admin', '--expires-in', '900');
    const kubeconfig = platform.file('admin.kubeconfig', text);
    const tool = await requireTool('kubectl');
    // It leads to the nodes, which the network of the hosts reaches.
    const { stdout, stderr } = await platform.network.run([tool, '--kubeconfig', kubeconfig, 'auth', 'whoami', '-o', 'json']);
    expect(JSON.parse(stdout || '{}'), stderr).toMatchObject({
      status: { userInfo: { username: 'kubernetes-admin', groups: expect.arrayContaining(['capstan:admins']) } },
    });
    const [, data = ''] = /client-certificate-data: (\S+)/.exec(text) ?? [];
    const { validToDate } = new X509Certificate(Buffer.from(data, 'base64'));
    expect(validToDate.getTime()).toBeLessThan(Date.now() + 1_000_000);
    expect(await platform.run('audit', '--verb', 'create', '-o', 'json')).toContain('appinstances/lab/admincertificate');
  });

  test('keeps the token of servers off the agents, and gives the groups of the platform their roles', async () => {
    const token = /^token: "(.+)"$/m.exec(host('first').read('/etc/rancher/k3s/config.yaml'))![1]!;
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(host('second').read('/etc/rancher/k3s/config.yaml')).not.toContain(token);
    const can = (group: string, ...args: string[]) => kubectl('auth', 'can-i', ...args, '--as=ann', `--as-group=${group}`);
    expect(await can('capstan:admins', 'delete', 'nodes')).toBe('yes');
    expect(await can('capstan:viewers', 'list', 'pods')).toBe('yes');
    await expect(can('capstan:viewers', 'delete', 'pods')).rejects.toThrow();
  });

  test('undoes changes of its files by itself', async () => {
    const file = '/etc/rancher/k3s/config.yaml';
    const before = host('second').read(file);
    host('second').write(file, `${before}node-taint: ["of=somebody:NoExecute"]\n`, 0o600);
    await platform.look();
    await vi.waitFor(() => expect(host('second').read(file)).toBe(before), halfWay);
    expect((await platform.operations('lab')).filter(({ spec }) => spec.type === 'reconcile')).toHaveLength(1);
  }, 200_000);

  test('is removed with everything, and leaves no residue', async () => {
    await platform.instances().delete('lab');
    await vi.waitFor(async () => expect((await platform.instances().list()).items).toEqual([]), { timeout: 90_000, interval: 500 });
    // A record of the removal stays only if something is left.
    expect((await platform.operations('lab')).flatMap(({ status }) => status?.residues ?? [])).toEqual([]);
    for (const one of hosts.values())
      expect((await one.run(['ls', '/etc/rancher', '/var/lib/rancher', '/var/lib/kubelet'])).stdout).toBe('');
  });
});
