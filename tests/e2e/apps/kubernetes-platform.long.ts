import { type Host, requireTool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startClusterPlatform } from './cluster-platform.ts';
import { clusterProblem } from './kubernetes-hosts.ts';
import type { AppPlatform } from './platform.ts';

const program = 'rke2';
const patience = { timeout: 60_000, interval: 500 };
const everyNode = ['gpu-1', 'gpu-2', 'gpu-3'];

describeUnless(await clusterProblem({ builds: true }), 'a self-managed cluster of RKE2, by the commands of a tenant', () => {
  const owned = new AsyncDisposableStack();
  /** The allocation of each node. */
  const allocations: Record<string, string> = {};
  let platform: AppPlatform;
  let kubeconfig: string;
  let hosts: ReadonlyMap<string, Host>;

  beforeAll(async () => {
    ({ platform, hosts } = await startClusterPlatform(owned, program, everyNode));
    for (const name of ['a', 'b', 'c']) allocations[await platform.allocate(name)] = name;
  });
  afterAll(() => owned.disposeAsync());

  /** Runs a command as people do, and shows its output if it fails. */
  const capstan = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await platform.try('app', ...args);
    if (process.env['SHOW'] !== undefined) process.stderr.write(`\n$ capstan app ${args.join(' ')}\n${stdout}${stderr}`);
    expect(code, `capstan app ${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
    return stdout;
  };
  const place = (...agents: string[]): Promise<string> => {
    const named = agents.map((node) => allocations[node]).join(',');
    const placement = ['--placement', `server_allocation_id=${allocations['gpu-1']}`, '--placement', `agent_allocation_ids=${named}`];
    return capstan('deploy', 'lab', '--app', program, ...placement, '--wait');
  };
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await platform.network.run([await requireTool('kubectl'), '--kubeconfig', kubeconfig, ...args]);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
  const readyNodes = async (): Promise<string[]> => {
    const lines = (await kubectl('get', 'nodes', '--no-headers')).split('\n').map((line) => line.split(/\s+/));
    return lines.flatMap(([name, state]) => (state === 'Ready' ? [name!] : []));
  };
  const memberOn = async (node: string): Promise<string> =>
    (await platform.members()).find(({ spec }) => spec.node === node)!.metadata.name!;

  test('is deployed', async () => {
    await capstan('show', program);
    await place('gpu-2', 'gpu-3');
    await platform.status('lab', { state: 'running', health: 'healthy', members: { healthy: 3 } });
    await capstan('status', 'lab');
    kubeconfig = platform.file('lab.kubeconfig', await platform.run('app', 'kubeconfig', 'lab'));
    expect(await readyNodes()).toEqual(everyNode);
  });

  test('loses an agent with its placement, and gets it back', async () => {
    await place('gpu-2');
    expect(await readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    await place('gpu-2', 'gpu-3');
    expect(await readyNodes()).toEqual(everyNode);
  });

  test('has a node drained, which takes pods again later', async () => {
    const member = await memberOn('gpu-2');
    await capstan('do', 'lab', 'drain', '--member', member, '--wait');
    expect(await kubectl('get', 'node', 'gpu-2', '--no-headers')).toContain('SchedulingDisabled');
    await capstan('do', 'lab', 'uncordon', '--member', member, '--wait');
    expect(await kubectl('get', 'node', 'gpu-2', '--no-headers')).not.toContain('SchedulingDisabled');
  });

  test('goes back to a snapshot', async () => {
    await kubectl('create', 'configmap', 'before');
    await capstan('do', 'lab', 'snapshot', '--wait');
    await kubectl('create', 'configmap', 'after');
    await capstan('do', 'lab', 'restore', '--wait');
    await vi.waitFor(async () => {
      const found = await kubectl('get', 'configmaps', '-o', 'name');
      expect(found).toContain('configmap/before');
      expect(found).not.toContain('configmap/after');
      expect(await readyNodes()).toEqual(everyNode);
    }, patience);
  });

  test('has certificates that expire soon renewed by the platform', async () => {
    const { status } = await platform.instances().get('lab');
    const expiring = `cd /var/lib/rancher/rke2/server/tls && openssl req -new -key client-scheduler.key -subj /CN=system:kube-scheduler |
      openssl x509 -req -CA client-ca.crt -CAkey client-ca.key -days 10 -out client-scheduler.crt`;
    expect((await hosts.get('gpu-1')!.run(['sh', '-c', expiring])).code).toBe(0);
    await vi.waitFor(
      async () => {
        const renewal = (await platform.operations('lab')).find(({ spec }) => spec.type === 'rotate-certificates');
        expect(renewal?.status?.state).toBe('succeeded');
        const { status: now } = await platform.instances().get('lab');
        expect(now?.certificatesExpireAt?.slice(0, 10)).toBe(status?.certificatesExpireAt?.slice(0, 10));
      },
      { timeout: 280_000, interval: 1_000 },
    );
    expect(await readyNodes()).toEqual(everyNode);
  });

  test('stops and starts', async () => {
    await platform.instances().patch('lab', { type: 'merge', patch: { spec: { stopped: true } } });
    await platform.status('lab', { state: 'stopped', phase: 'stopped' });
    await platform.instances().patch('lab', { type: 'merge', patch: { spec: { stopped: false } } });
    await platform.status('lab', { state: 'running', phase: 'ready' });
    await vi.waitFor(async () => expect(await readyNodes()).toEqual(everyNode), patience);
  });

  test('is removed without residues', async () => {
    await capstan('rm', 'lab', '--wait');
    await vi.waitFor(async () => expect((await platform.instances().list()).items).toEqual([]), patience);
    expect((await platform.operations('lab')).flatMap(({ status }) => status?.residues ?? [])).toEqual([]);
  });
});
