import { type NodeTask, nodeTaskKind, requestedByAnnotation } from '@capstan/api';
import { computeProduct } from '@capstan/compute';
import { PretendFleet } from '@capstan/compute/testing';
import { fleet as wholeFleet } from '@capstan/fleet';
import { pretendAgents } from '@capstan/fleet/testing';
import type { KubeObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { appsProduct } from '../product.ts';
import { pair } from '../testing/pair.ts';
import { TenantApps } from '../testing/tenant-apps.ts';

const patience = { timeout: 8_000, interval: 50 };

let cloud: Cloud;
let apps: TenantApps;
let fleet: PretendFleet;
/** The output of every task, by its script or type. */
const outputs: Record<string, string> = { 'pair-hello': 'good day\n', 'pair-probe': 'ok\n' };
/** Scripts and types that fail, and whether trying again may help. */
const broken = new Map<string, { readonly retryable: boolean }>();
const silent = new Set<string>();
const residues: { name: string; message: string }[] = [];

const subjectOf = ({ spec }: NodeTask): string => spec.processRun?.script ?? spec.type;

beforeAll(async () => {
  const readOutput = async (task: NodeTask) =>
    ({ kind: 'read', text: outputs[subjectOf(task)] ?? `output of ${subjectOf(task)}\n` }) as const;
  cloud = await startCloud({
    products: [{ ...wholeFleet, controllers: [] }, computeProduct({ explainEvery: 30 }), appsProduct({ adapters: [pair], readOutput })],
  });
  apps = new TenantApps(cloud.tenants[0]!.client);
  fleet = new PretendFleet(cloud.platform);
  await fleet.makePool('metal', { nodes: 6, exclusive: true });
  for (const name of ['a', 'b', 'c', 'd', 'e']) await apps.allocate(name, 'metal');
  await vi.waitFor(async () => {
    expect((await apps.allocations().list()).items.every(({ status }) => status?.phase === 'Active')).toBe(true);
  }, patience);
}, 90_000);
afterAll(() => cloud?.[Symbol.asyncDispose]());

function agents() {
  return pretendAgents(cloud.platform, (node, task) => {
    if (silent.has(node)) return undefined;
    const failure = broken.get(subjectOf(task)) ?? broken.get(`${subjectOf(task)}@${node}`);
    if (failure !== undefined)
      return { phase: 'Failed', error: { code: 'CommandFailed', message: 'it exited with 3', userFixable: true, ...failure } };
    return { phase: 'Succeeded', ...(subjectOf(task) === 'pair-remove' && residues.length > 0 && { report: residues }) };
  });
}

const nodeOf = async (allocation: string): Promise<string> => (await apps.allocations().get(allocation)).status!.parts![0]!.node;

async function tasks(): Promise<NodeTask[]> {
  return (await cloud.platform.resource<NodeTask>(nodeTaskKind).list()).items;
}

describe('an instance', () => {
  test('is deployed on its allocations, stage by stage, and is healthy', async () => {
    await using _agents = agents();
    await apps.create('one', { app: 'pair', placement: { leader_allocation_id: 'a', follower_allocation_ids: ['b'] } });
    await vi.waitFor(
      async () =>
        expect((await apps.get('one')).status).toMatchObject({ state: 'running', health: 'healthy', phase: 'ready', version: '1' }),
      patience,
    );
    const { status } = await apps.get('one');
    expect(status).toMatchObject({
      members: { total: 2, healthy: 2 },
      lastOperation: { type: 'deploy', state: 'succeeded', progress: { completed: 5, total: 5 } },
      access: { endpoints: [{ name: 'greeting' }] },
    });
    expect(
      (await apps.members('one')).map(({ spec, status: member }) => [spec.component, spec.allocation, member?.state, member?.joined]),
    ).toEqual([
      ['leader', 'a', 'running', true],
      ['follower', 'b', 'running', true],
    ]);
    const written = (await tasks()).filter(({ spec }) => spec.type === 'file.write').map(({ spec }) => spec.fileWrite!.content);
    expect(written.toSorted()).toEqual(['greeting=good day\nkey=${secret:key}\n', 'greeting=hello\nkey=${secret:key}\n']);
  });

  test('is asked for by a user, whom its operation, its members and its steps name; checks of its health name nobody', async () => {
    const requesterOf = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[requestedByAnnotation];
    const requester = requesterOf(await apps.get('one'));
    const isProbe = (task: NodeTask): boolean => subjectOf(task) === 'pair-probe';
    const all = await tasks();
    const made = [...(await apps.operationsOf('one')), ...(await apps.members('one')), ...all.filter((task) => !isProbe(task))];
    expect(requester).toEqual(expect.any(String));
    expect(new Set(made.map(requesterOf))).toEqual(new Set([requester]));
    expect(all.filter(isProbe).map(requesterOf)).not.toContain(requester);
  });

  test('refuses an allocation that another instance has, and says whose it is', async () => {
    await apps.create('two', { app: 'pair', placement: { leader_allocation_id: 'b' } });
    await vi.waitFor(
      async () =>
        expect((await apps.get('two')).status).toMatchObject({
          state: 'pending',
          health: 'failed',
          message: 'the Allocation b is used by the instance one',
          lastErrors: [{ code: 'AllocationInUse', userFixable: true }],
        }),
      patience,
    );
    await apps.instances().delete('two');
    await vi.waitFor(async () => expect(await apps.isGone('two')).toBe(true), patience);
  });

  test('gets another member and loses one with its placement', async () => {
    await using _agents = agents();
    await apps.change('one', { placement: { follower_allocation_ids: ['c'] } });
    await vi.waitFor(async () => {
      expect((await apps.members('one')).map(({ spec, status }) => [spec.allocation, status?.state])).toEqual([
        ['a', 'running'],
        ['c', 'running'],
      ]);
      expect((await apps.get('one')).status).toMatchObject({ lastOperation: { type: 'change', state: 'succeeded' } });
    }, patience);
  });

  test('is stopped and started', async () => {
    await using _agents = agents();
    await apps.change('one', { stopped: true });
    await vi.waitFor(async () => expect((await apps.get('one')).status).toMatchObject({ state: 'stopped', phase: 'stopped' }), patience);
    await apps.change('one', { stopped: false });
    await vi.waitFor(async () => expect((await apps.get('one')).status).toMatchObject({ state: 'running' }), patience);
  });

  test('shows the plan of an operation without doing it', async () => {
    const { metadata } = await apps.ask('one', 'decommission', { dryRun: true });
    await vi.waitFor(async () => {
      const { status } = await apps.operations().get(metadata.name ?? '');
      expect(status).toMatchObject({ state: 'succeeded', steps: [{ state: 'pending' }, { state: 'pending' }] });
    }, patience);
    expect((await apps.get('one')).status?.state).toBe('running');
  });

  test('refuses operations that its app does not have, and those of the platform', async () => {
    const errors = async (type: string): Promise<string | undefined> => {
      const { metadata } = await apps.ask('one', type);
      return vi.waitFor(async () => {
        const { status } = await apps.operations().get(metadata.name ?? '');
        expect(status?.state).toBe('failed');
        return status?.errors?.[0]?.code;
      }, patience);
    };
    expect(await errors('dance')).toBe('UnknownOperation');
    expect(await errors('deploy')).toBe('BegunByPlatform');
    expect(await errors('retry')).toBe('NothingFailed');
    expect(await errors('wave')).toBe('NoMember');
  });

  test('is removed with everything of it, and reports what is left', async () => {
    await using _agents = agents();
    residues.push({ name: '/var/lib/pair', message: 'is still mounted' });
    await apps.instances().delete('one');
    await vi.waitFor(async () => expect(await apps.isGone('one')).toBe(true), patience);
    residues.length = 0;
    expect(await apps.members('one')).toEqual([]);
    expect((await tasks()).filter(({ metadata }) => metadata.name?.startsWith('app-'))).toEqual([]);
    const [record, ...others] = await apps.operationsOf('one');
    expect(others).toEqual([]);
    expect(record).toMatchObject({ spec: { type: 'decommission' }, status: { state: 'succeeded' } });
    expect(record?.status?.residues).toEqual(
      expect.arrayContaining([expect.objectContaining({ node: await nodeOf('a'), name: '/var/lib/pair', message: 'is still mounted' })]),
    );
  });
});

describe('a step that fails', () => {
  test('fails the operation with its output, and a retry goes on where it stopped', async () => {
    await using _agents = agents();
    broken.set('pair-hello', { retryable: false });
    await apps.create('three', { app: 'pair', placement: { leader_allocation_id: 'd' } });
    const failed = await vi.waitFor(async () => {
      const { status } = await apps.get('three');
      expect(status).toMatchObject({ state: 'failed', health: 'failed', lastOperation: { state: 'failed', step: 'Say hello' } });
      return status!;
    }, patience);
    expect(failed.lastErrors).toMatchObject([{ code: 'CommandFailed', message: 'it exited with 3', output: 'good day\n' }]);
    expect(failed.allowedActions?.map(({ action }) => action)).toEqual(expect.arrayContaining(['retry', 'acknowledge']));
    broken.clear();
    await apps.ask('three', 'retry');
    await vi.waitFor(async () => expect((await apps.get('three')).status).toMatchObject({ state: 'running', health: 'healthy' }), patience);
    expect((await apps.get('three')).status?.lastErrors).toBeUndefined();
  });

  test('of one member only degrades the instance, and a repair makes it whole', async () => {
    await using _agents = agents();
    broken.set(`file.write@${await nodeOf('e')}`, { retryable: false });
    await apps.change('three', { placement: { follower_allocation_ids: ['e'] } });
    await vi.waitFor(
      async () => expect((await apps.get('three')).status).toMatchObject({ state: 'running', health: 'degraded' }),
      patience,
    );
    const member = (await apps.members('three')).find(({ spec }) => spec.allocation === 'e')!;
    expect(member.status).toMatchObject({ state: 'failed', lastErrors: [{ message: 'it exited with 3' }] });
    broken.clear();
    await apps.ask('three', 'repair', { member: member.metadata.name ?? '' });
    await vi.waitFor(
      async () => expect((await apps.get('three')).status).toMatchObject({ health: 'healthy', members: { healthy: 2 } }),
      patience,
    );
  });

  test('on a silent node waits and says for whom; the instance can still be deleted by force', async () => {
    const node = await nodeOf('e');
    {
      await using _agents = agents();
      await fleet.ready(node, 'Unknown');
      await vi.waitFor(async () => expect((await apps.get('three')).status).toMatchObject({ health: 'degraded' }), patience);
      const member = (await apps.members('three')).find(({ spec }) => spec.allocation === 'e')!;
      expect(member.status).toMatchObject({ health: 'unknown', message: `the node ${node} is silent` });
      await apps.instances().delete('three');
      await vi.waitFor(
        async () => expect((await apps.get('three')).status?.message).toContain(`waits for the node ${node}, which is silent`),
        patience,
      );
      expect((await apps.get('three')).status?.allowedActions?.map(({ action }) => action)).toContain('force-delete');
      await apps.ask('three', 'force-delete');
      await vi.waitFor(async () => expect(await apps.isGone('three')).toBe(true), patience);
    }
    const [record] = await apps.operationsOf('three');
    expect(record?.status?.residues).toMatchObject([{ node, name: 'everything' }]);
    await fleet.ready(node, 'True');
  });
});
