import { setTimeout as sleep } from 'node:timers/promises';
import { type AppInstance, type AppMember, type AppOperation, type NodeTask, nodeTaskKind } from '@capstan/api';
import { type Host, requireTool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startClusterPlatform } from './cluster-platform.ts';
import { clusterProblem } from './kubernetes-hosts.ts';
import type { AppPlatform } from './platform.ts';

const program = 'rke2';
const patience = { timeout: 120_000, interval: 250 };
/** A file of an earlier cluster, because of which a node is refused. */
const leftover = '/etc/rancher/node/password';

/** Everything that a tenant could see at one time. */
interface Sight {
  readonly instance: AppInstance;
  readonly members: readonly AppMember[];
  readonly operations: readonly AppOperation[];
}

/** The criteria of the first slice of self-managed Kubernetes that no other test proves. `docs/apps.md` lists all. */
describeUnless(await clusterProblem({ builds: true }), 'self-managed Kubernetes', () => {
  const owned = new AsyncDisposableStack();
  let hosts: ReadonlyMap<string, Host>;
  const nodes: Record<string, string> = {};
  const seen: Sight[] = [];
  let platform: AppPlatform;

  beforeAll(async () => {
    ({ platform, hosts } = await startClusterPlatform(owned, program, ['gpu-1', 'gpu-2']));
    for (const name of ['first', 'second']) nodes[name] = await platform.allocate(name);
  });
  afterAll(() => owned.disposeAsync());

  const host = (allocation: string): Host => hosts.get(nodes[allocation]!)!;
  const look = async (): Promise<Sight> => {
    const [instance, members, operations] = await Promise.all([
      platform.instances().get('lab'),
      platform.members(),
      platform.operations('lab'),
    ]);
    return { instance, members, operations };
  };
  const member = ({ members }: Sight, component: string): AppMember | undefined => members.find(({ spec }) => spec.component === component);
  /** Keeps looking until the instance is like this. */
  const watchUntil = async (isLast: (sight: Sight) => boolean): Promise<Sight> => {
    for (const end = Date.now() + 250_000; ; await sleep(100)) {
      const sight = await look();
      seen.push(sight);
      if (isLast(sight)) return sight;
      if (Date.now() > end) throw new Error(JSON.stringify(sight.instance.status, undefined, 1));
    }
  };
  const place = (agents: string[]) => ({ server_allocation_id: 'first', agent_allocation_ids: agents });
  const phases = (): string[] =>
    seen.map(({ instance }) => instance.status?.phase ?? '').filter((one, at, all) => one !== '' && one !== all[at - 1]);

  test('the server allocation must not also appear in agent_allocation_ids', async () => {
    await platform.deploy('lab', { app: program, placement: place(['first']) });
    const { status } = await platform.status('lab', { state: 'pending', health: 'failed' });
    expect(status?.lastErrors).toMatchObject([{ userFixable: true, message: expect.stringContaining('first') }]);
    expect(await platform.members()).toEqual([]);
    await platform.instances().delete('lab');
    await vi.waitFor(async () => expect((await platform.instances().list()).items).toEqual([]), patience);
  });

  test('server bootstrap failed terminally: instance failed', async () => {
    host('first').write(leftover, 'of an earlier cluster');
    await platform.deploy('lab', { app: program, placement: place([]) });
    const { instance } = await watchUntil(({ instance: { status } }) => status?.lastOperation?.state === 'failed');
    expect(instance.status).toMatchObject({ state: 'failed', health: 'failed', lastErrors: [{ code: 'LeftoverState' }] });
    expect(instance.status?.allowedActions?.map(({ action }) => action)).toContain('retry');
    await host('first').run(['rm', '-r', '/etc/rancher']);
    seen.length = 0;
  });

  test('a user can deploy a self-managed workload from the catalog, and the workload becomes running', async () => {
    await platform.instances().patch('lab', { type: 'merge', patch: { spec: { placement: place(['second']) } } });
    const failed = await look();
    if (failed.instance.status?.lastOperation?.state === 'failed') await platform.retry('lab');
    const { instance } = await watchUntil(
      ({ instance: { status }, members }) =>
        status?.state === 'running' && status.health === 'healthy' && members.length === 2 && status.members?.healthy === 2,
    );
    expect(instance.spec.app).toBe(program);
  }, 300_000);

  test('it creates one server and optional agent members with visible progress', () => {
    const last = seen.at(-1)!;
    expect(last.members.map(({ spec }) => spec.component).sort()).toEqual(['agent', 'server']);
    const counts = seen.flatMap(({ instance }) => instance.status?.progress?.completed ?? []);
    expect(new Set(counts).size).toBeGreaterThan(2);
    expect(seen.some(({ instance }) => instance.status?.lastOperation?.step !== undefined)).toBe(true);
  });

  test('members surface node binding, allocation binding, endpoint where relevant, runtime state and health', () => {
    const last = seen.at(-1)!;
    expect(member(last, 'server')).toMatchObject({
      spec: { allocation: 'first', node: nodes['first'] },
      status: { state: 'running', health: 'healthy', endpoint: expect.stringContaining('6443') },
    });
    expect(member(last, 'agent')).toMatchObject({
      spec: { allocation: 'second', node: nodes['second'] },
      status: { state: 'running', health: 'healthy' },
    });
  });

  test('nodes join in the intended order', () => {
    expect(phases().at(-1)).toBe('ready');
    const joining = seen.at(-1)!.operations.find(({ status }) => status?.steps?.some(({ phase }) => phase === 'agent_joining'));
    const of = (wanted: string) => (joining?.status?.steps ?? []).filter(({ phase, state }) => phase === wanted && state === 'succeeded');
    const [server, agents] = [of('server_ready_for_agent_join'), of('agent_joining')];
    expect([server.length, agents.length].every((count) => count > 0)).toBe(true);
    const isBefore = server.every(({ finishedAt = '' }) => agents.every(({ startedAt = '' }) => finishedAt <= startedAt));
    expect(isBefore, JSON.stringify([server, agents])).toBe(true);
  });

  test('kubeconfig is retrievable, and both nodes are seen with native kubectl', async () => {
    const kubeconfig = platform.file('lab.kubeconfig', await platform.run('app', 'kubeconfig', 'lab'));
    const get = ['get', 'nodes', '-o', 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'];
    const { stdout } = await platform.network.run([await requireTool('kubectl'), '--kubeconfig', kubeconfig, ...get]);
    expect(stdout.trim()).toBe('True True');
  });

  test('node mutation remains auditable: every step is a task that names its operation', async () => {
    const { metadata } = (await look()).instance;
    const { items } = await platform.platform
      .resource<NodeTask>(nodeTaskKind)
      .list({ labelSelector: `apps.capstan.dev/instance=${metadata.uid}` });
    const steps = items.filter(({ metadata: { labels } }) => labels?.['apps.capstan.dev/operation'] !== undefined);
    expect(steps.length).toBeGreaterThan(5);
  });

  test('drain/remove an agent, and re-add it', async () => {
    await platform.instances().patch('lab', { type: 'merge', patch: { spec: { placement: place([]) } } });
    await watchUntil(({ members, instance }) => members.length === 1 && instance.status?.lastOperation?.state === 'succeeded');
    // Drift of a node: something of an earlier cluster is on it when it comes again.
    host('second').write(leftover, 'of an earlier cluster');
    await platform.instances().patch('lab', { type: 'merge', patch: { spec: { placement: place(['second']) } } });
  }, 300_000);

  test('agent join failure after server ready: the instance is degraded, not failed', async () => {
    const { instance, members } = await watchUntil(
      (sight) => sight.instance.status?.health === 'degraded' && member(sight, 'agent')?.status?.state === 'failed',
    );
    expect(instance.status).toMatchObject({ state: 'running' });
    expect(members.find(({ spec }) => spec.component === 'server')?.status?.state).toBe('running');
  }, 300_000);

  test('repair makes a failed agent a part of the cluster again', async () => {
    await host('second').run(['rm', '-r', '/etc/rancher']);
    const { metadata } = (await look()).members.find(({ spec }) => spec.component === 'agent')!;
    await platform.run('app', 'do', 'lab', 'repair', '--member', metadata.name ?? '', '--wait');
    await platform.status('lab', { state: 'running', health: 'healthy', members: { total: 2, healthy: 2 } });
  }, 300_000);

  test('decommission tears down runtime services and cluster membership', async () => {
    await platform.instances().delete('lab');
    await vi.waitFor(async () => expect((await platform.instances().list()).items).toEqual([]), { timeout: 200_000, interval: 500 });
    for (const one of hosts.values()) expect((await one.run(['pgrep', '-f', 'rke2 (server|agent)'])).stdout).toBe('');
    expect((await platform.operations('lab')).flatMap(({ status }) => status?.residues ?? [])).toEqual([]);
  }, 300_000);
});
