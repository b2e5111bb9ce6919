import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AdapterMember, builtInAdapters } from '@capstan/apps';
import {
  buildRelease,
  distributionEnvironment,
  distributionProblem,
  type Host,
  HostNetwork,
  prepareHost,
  temporaryDirectory,
} from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { PlanRunner } from './plan-runner.ts';

const program = process.env['PROGRAM'] === 'k3s' ? 'k3s' : 'rke2';
const problem = (await HostNetwork.problem()) ?? (await distributionProblem());
const registration = builtInAdapters.find(({ adapter }) => adapter.name === 'kubernetes')!;

describeUnless(problem, 'a self-managed Kubernetes cluster', () => {
  const owned = new AsyncDisposableStack();
  const hosts = new Map<string, Host>();
  let runner: PlanRunner;

  beforeAll(async () => {
    const directory = owned.use(temporaryDirectory('release'));
    const release = await buildRelease(program, directory.path);
    const network = await HostNetwork.create();
    const environment = await distributionEnvironment();
    for (const name of ['gpu-1', 'gpu-2', 'gpu-3']) {
      const host = await network.addHost(name, { environment });
      hosts.set(name, host);
      owned.use(await prepareHost(host));
    }
    owned.use(network);
    const hashes = Object.entries(release.files).map(
      ([name, path]) => [name, createHash('sha256').update(readFileSync(path)).digest('hex')] as const,
    );
    const artifacts = new Map(hashes.map(([name, hash]) => [hash, release.files[name]!]));
    const instance = {
      id: 'f0a1',
      name: 'lab',
      namespace: 'default',
      workspace: 'root:main:vision',
      app: program,
      version: release.version,
      artifacts: Object.fromEntries(hashes),
      placement: {},
      parameters: {},
    };
    runner = owned.use(new PlanRunner({ registration, instance, hosts, artifacts }));
    runner.members.push(member('server', 'gpu-1'), member('agent', 'gpu-2'), member('agent', 'gpu-3'));
  });
  afterAll(() => owned.disposeAsync());

  const member = (component: 'server' | 'agent', node: string, change: Partial<AdapterMember> = {}): AdapterMember => ({
    name: `lab-${node}`,
    component,
    allocation: node,
    node: { name: node, address: hosts.get(node)!.address, hostname: node, cpus: 2, memoryMiB: 4096, gpus: [], isReady: true },
    state: 'pending',
    isWanted: true,
    hasJoined: false,
    ...change,
  });

  const kubectl = async (...args: string[]): Promise<string> => {
    const command = [
      ...(program === 'k3s' ? ['k3s', 'kubectl'] : ['/var/lib/rancher/rke2/bin/kubectl']),
      '--kubeconfig',
      `/etc/rancher/${program}/${program}.yaml`,
      ...args,
    ];
    const { code, stdout, stderr } = await hosts.get('gpu-1')!.run(command, { timeout: 30_000 });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
  const readyNodes = async (): Promise<string> =>
    kubectl('get', 'nodes', '-o', 'jsonpath={range .items[?(@.status.conditions[-1].status=="True")]}{.metadata.name} {end}');

  test('is deployed with one server and two agents, and runs a pod', async () => {
    await runner.do('deploy');
    expect(await readyNodes()).toBe('gpu-1 gpu-2 gpu-3');
    const overrides = JSON.stringify({ spec: { terminationGracePeriodSeconds: 0 } });
    const image = ['--image=capstan.test/busybox:1', '--image-pull-policy=Never', `--overrides=${overrides}`];
    await kubectl('run', 'web', ...image, '--command', '--', 'sleep', '100000');
    await kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=30s');
    expect(await runner.observe()).toMatchObject({ health: 'healthy', certificatesExpireAt: expect.any(String) });
  });

  test('keeps the token of servers off the agents, and gives the groups of the platform their roles', async () => {
    expect(hosts.get('gpu-2')!.read(`/etc/rancher/${program}/config.yaml`)).not.toContain(runner.secrets['token']);
    expect(await kubectl('auth', 'can-i', 'delete', 'nodes', '--as=ann', '--as-group=capstan:admins')).toBe('yes');
    await expect(kubectl('auth', 'can-i', 'delete', 'pods', '--as=bob', '--as-group=capstan:viewers')).rejects.toThrow();
    expect(await kubectl('auth', 'can-i', 'list', 'pods', '--as=bob', '--as-group=capstan:viewers')).toBe('yes');
  });

  test('removes an agent without residues and takes it back under the same name', async () => {
    const index = runner.members.findIndex(({ name }) => name === 'lab-gpu-3');
    runner.members[index] = { ...runner.members[index]!, isWanted: false };
    await runner.do('change');
    expect(await readyNodes()).toBe('gpu-1 gpu-2');
    expect(runner.residues).toEqual([]);
    runner.members.push(member('agent', 'gpu-3'));
    await runner.do('change');
    expect(await readyNodes()).toBe('gpu-1 gpu-2 gpu-3');
  });

  test('drains a node and lets it take pods again, but leaves the cordons of others alone', async () => {
    await runner.do('drain', { member: 'lab-gpu-2' });
    expect((await runner.observe()).members['lab-gpu-2']).toMatchObject({ health: 'healthy', message: expect.stringContaining('drained') });
    await runner.do('uncordon', { member: 'lab-gpu-2' });
    await kubectl('cordon', 'gpu-2');
    await expect(runner.do('uncordon', { member: 'lab-gpu-2' })).rejects.toThrow('CordonedByOthers');
    await kubectl('uncordon', 'gpu-2');
  });

  test('goes back to a snapshot when no server answers', async () => {
    await kubectl('create', 'configmap', 'before');
    await runner.do('snapshot');
    await kubectl('create', 'configmap', 'after');
    await runner.service('lab-gpu-1')?.kill();
    expect(await runner.observe()).toMatchObject({ health: 'failed', members: { 'lab-gpu-1': { isRepairable: true } } });
    await runner.do('restore');
    expect(await kubectl('get', 'configmaps', '-o', 'name')).toContain('configmap/before');
    expect(await kubectl('get', 'configmaps', '-o', 'name')).not.toContain('configmap/after');
    await vi.waitFor(async () => expect(await readyNodes()).toBe('gpu-1 gpu-2 gpu-3'), { timeout: 60_000, interval: 1_000 });
  });

  test('stops and starts', async () => {
    await runner.do('stop');
    for (const host of hosts.values()) expect((await host.run(['pgrep', '-f', 'kubelet|containerd-shim'])).stdout).toBe('');
    await runner.do('start');
    await vi.waitFor(async () => expect(await readyNodes()).toBe('gpu-1 gpu-2 gpu-3'), { timeout: 60_000, interval: 1_000 });
  });

  test('renews certificates', async () => {
    const serial = async (): Promise<string> =>
      (
        await hosts
          .get('gpu-1')!
          .run(['openssl', 'x509', '-noout', '-serial', '-in', `/var/lib/rancher/${program}/server/tls/client-admin.crt`])
      ).stdout;
    const before = await serial();
    await runner.do('rotate-certificates');
    expect(await serial()).not.toBe(before);
    expect(await readyNodes()).toBe('gpu-1 gpu-2 gpu-3');
  });

  test('repairs an agent that the cluster knows by another password', async () => {
    const host = hosts.get('gpu-2')!;
    await runner.service('lab-gpu-2')?.kill();
    host.write('/etc/rancher/node/password', 'another\n');
    await expect(runner.do('start')).rejects.toThrow('NodePasswordRejected');
    await runner.do('repair', { member: 'lab-gpu-2' });
    await vi.waitFor(async () => expect(await readyNodes()).toBe('gpu-1 gpu-2 gpu-3'), { timeout: 60_000, interval: 1_000 });
  });

  test('reports what is still there', async () => {
    const { content } = registration.scripts().find(({ name }) => name === 'kubernetes-residue')!;
    const host = hosts.get('gpu-2')!;
    host.write('/run/residue', content, 0o755);
    const { stdout } = await host.run(['/run/residue', program]);
    for (const subject of [
      /^residue: process \d+: /m,
      /^residue: nft ip kube-proxy: /m,
      /^residue: \/var\/lib\/kubelet: /m,
      /^residue: \/etc\/rancher\/node: /m,
    ])
      expect(stdout).toMatch(subject);
  });

  test('is decommissioned without residues', async () => {
    await runner.do('decommission');
    expect(runner.residues).toEqual([]);
    expect(runner.members).toEqual([]);
  });

  test('runs with three servers, one of which leaves etcd and goes', async () => {
    runner.members.push(member('server', 'gpu-1'), member('server', 'gpu-2'), member('server', 'gpu-3'));
    await runner.do('deploy');
    expect(await readyNodes()).toBe('gpu-1 gpu-2 gpu-3');
    const etcd = async (): Promise<string> =>
      (await hosts.get('gpu-1')!.run(['curl', '-s', '-d', '{}', 'http://127.0.0.1:2379/v3/cluster/member/list'])).stdout;
    for (const name of hosts.keys()) expect(await etcd()).toContain(name);
    runner.members[2] = { ...runner.members[2]!, isWanted: false };
    await runner.do('change');
    expect(await etcd()).not.toContain('gpu-3');
    expect(await readyNodes()).toBe('gpu-1 gpu-2');
    expect(await runner.observe()).toMatchObject({ health: 'healthy' });
    await runner.do('decommission');
    expect(runner.residues).toEqual([]);
  });
});
