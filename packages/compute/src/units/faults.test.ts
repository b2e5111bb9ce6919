import { type GPUUnit, type NodeBooking, type NodeTask, type NodeUnit, nodeBookingKind, nodeTaskKind } from '@capstan/api';
import { Resource } from '@capstan/client';
import { fleet as wholeFleet } from '@capstan/fleet';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { computeProduct } from '../product.ts';
import { PretendFleet, TenantUnits } from './testing/pretend-fleet.ts';

const patiently = { timeout: 20_000, interval: 20 };
/** The tests move it forward. */
const clock = { ahead: 0 };

let cloud: Cloud;
let fleet: PretendFleet;
let tenant: TenantUnits;
beforeAll(async () => {
  const compute = computeProduct({ explainEvery: 30, now: () => Date.now() + clock.ahead });
  const controllers = wholeFleet.controllers.filter(({ name }) => name === 'cleaning');
  cloud = await startCloud({ products: [{ ...wholeFleet, controllers }, compute], tenants: 1 });
  fleet = new PretendFleet(cloud.platform);
  tenant = new TenantUnits(cloud.tenants[0]!.client);
  await vi.waitFor(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list()]), patiently);
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

const eventually = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, patiently);
const unitIs = (name: string, expected: object): Promise<GPUUnit> =>
  eventually(async () => {
    const unit = await tenant.units().get(name);
    expect(unit.status).toMatchObject(expected);
    return unit;
  });
const started = (unit: GPUUnit, count = 1, run = 1): Promise<NodeUnit[]> =>
  eventually(async () => {
    const found = (await fleet.of(unit)).filter(({ spec }) => spec.run === run);
    expect(found).toHaveLength(count);
    return found;
  });
const running = { phase: 'Running' as const, startedAt: '2026-01-01T00:00:01Z', ready: true };
const ended = { phase: 'Ended' as const, exitCode: 143, reason: 'Stopped' as const, finishedAt: '2026-01-01T00:00:09Z' };
const runs = async (name: string, spec: Partial<GPUUnit['spec']> = {}): Promise<{ unit: GPUUnit; nodeUnit: NodeUnit }> => {
  const unit = await tenant.create(name, { offering: name, ...spec });
  const [nodeUnit] = await started(unit);
  await fleet.report(nodeUnit!, running);
  await unitIs(name, { phase: 'Running' });
  return { unit, nodeUnit: nodeUnit! };
};

describe('a unit on a silent node', () => {
  test('is Unknown and nothing else, until the node is heard again', async () => {
    await fleet.makePool('silent', { nodes: 2 });
    const { unit, nodeUnit } = await runs('silent');
    const node = nodeUnit.metadata.namespace!.slice('node-'.length);
    await fleet.ready(node, 'Unknown');
    const { status } = await unitIs('silent', {
      phase: 'Unknown',
      message: `node ${node} has been silent since 2026-01-02T00:00:00Z; the program may still run there`,
    });
    expect(status!.conditions).toContainEqual(expect.objectContaining({ type: 'NodeReachable', status: 'False', reason: 'Silent' }));
    expect((await fleet.of(unit)).map(({ spec }) => [spec.run, spec.stopped])).toEqual([[1, false]]);
    await fleet.ready(node, 'True');
    await unitIs('silent', { phase: 'Running' });
  });

  test('can be deleted at once, and is collected when the node is back', async () => {
    await fleet.makePool('left');
    const { unit, nodeUnit } = await runs('left');
    await fleet.ready('left-0', 'Unknown');
    await tenant.units().delete('left');
    await eventually(async () => expect(await tenant.isGone('left')).toBe(true));
    expect((await fleet.of(unit)).map(({ spec }) => spec.stopped)).toEqual([true]);
    await fleet.ready('left-0', 'True');
    await fleet.report(nodeUnit, ended);
    await eventually(async () => expect(await fleet.of(unit)).toEqual([]));
  });

  test('is started elsewhere once its owner declares the node lost', async () => {
    await fleet.makePool('lost', { nodes: 2, gpus: 1 });
    const { unit, nodeUnit } = await runs('lost');
    const node = nodeUnit.metadata.namespace!.slice('node-'.length);
    await fleet.ready(node, 'Unknown');
    await unitIs('lost', { phase: 'Unknown' });
    await fleet.nodes().patch(node, { type: 'merge', patch: { spec: { lost: true } } });
    const [second] = await started(unit, 1, 2);
    expect(second!.metadata.namespace).not.toBe(nodeUnit.metadata.namespace);
    expect(second!.spec.allocation).not.toBe(nodeUnit.spec.allocation);
    await eventually(async () => expect((await fleet.of(unit)).map(({ spec }) => spec.run)).toEqual([2]));
  });

  test('is started elsewhere once the node must have ended it by itself', async () => {
    await fleet.makePool('fenced', { nodes: 2, gpus: 1 });
    const { unit, nodeUnit } = await runs('fenced', { onNodeLoss: 'Fence', fenceAfter: '1h', stopGrace: '10s' });
    expect(nodeUnit.spec.fenceAfter).toBe('1h');
    const node = nodeUnit.metadata.namespace!.slice('node-'.length);
    await fleet.ready(node, 'Unknown');
    await unitIs('fenced', { phase: 'Unknown' });
    clock.ahead = 3_700_000;
    await tenant.change('fenced', { maxDuration: '100h' });
    await eventually(async () => expect((await tenant.units().get('fenced')).status!.observedGeneration).toBe(2));
    expect((await fleet.of(unit)).map(({ spec }) => [spec.run, spec.stopped])).toEqual([[1, false]]);
    clock.ahead = 4_100_000;
    await tenant.change('fenced', { maxDuration: '101h' });
    await started(unit, 1, 2);
    expect((await fleet.of(unit)).map(({ spec }) => [spec.run, spec.stopped])).toEqual([
      [1, true],
      [2, false],
    ]);
    await fleet.ready(node, 'True');
    await fleet.report(nodeUnit, { ...ended, reason: 'Fenced' });
    await eventually(async () => expect((await fleet.of(unit)).map(({ spec }) => spec.run)).toEqual([2]));
    clock.ahead = 0;
  });
});

describe('a unit', () => {
  test('starts again with the same devices when its program is changed', async () => {
    await fleet.makePool('changed');
    const { unit, nodeUnit } = await runs('changed');
    await tenant.change('changed', { command: ['python3', 'better.py'] });
    await eventually(async () => expect((await fleet.of(unit))[0]!.spec.stopped).toBe(true));
    await fleet.report(nodeUnit, ended);
    const [second] = await started(unit, 1, 2);
    expect(second!.spec).toMatchObject({
      command: ['python3', 'better.py'],
      devices: nodeUnit.spec.devices,
      allocation: nodeUnit.spec.allocation,
    });
    await eventually(async () => expect(await fleet.of(unit)).toHaveLength(1));
  });

  test('keeps running when only its limits are changed', async () => {
    await fleet.makePool('limits');
    const { unit } = await runs('limits');
    await tenant.change('limits', { maxDuration: '10h', idleTimeout: '10h', priority: 5 });
    await unitIs('limits', { phase: 'Running', observedGeneration: 2, run: 1 });
    expect((await fleet.of(unit)).map(({ spec }) => [spec.run, spec.stopped])).toEqual([[1, false]]);
  });

  test.each([
    ['TimeLimit', { maxDuration: '1h' }, {}, 'it has reached maxDuration'],
    ['Idle', { idleTimeout: '1h' }, { idleSince: new Date().toISOString() }, 'it was idle for idleTimeout'],
  ] as const)('is stopped by its limit: %s, and does not start again by itself', async (reason, spec, status, message) => {
    const name = reason.toLowerCase();
    await fleet.makePool(name);
    const { unit, nodeUnit } = await runs(name, spec);
    await fleet.report(nodeUnit, { ...running, ...status });
    clock.ahead = 3_700_000;
    await tenant.change(name, { priority: 1 });
    await eventually(async () => expect((await fleet.of(unit))[0]!.spec).toMatchObject({ stopped: true, stopReason: reason }));
    await fleet.report(nodeUnit, { ...ended, reason });
    const { status: last } = await unitIs(name, { phase: 'Stopped', message });
    expect(last!.conditions).toContainEqual(expect.objectContaining({ type: 'Started', status: 'False', reason }));
    await tenant.change(name, { priority: 2 });
    await unitIs(name, { phase: 'Stopped', observedGeneration: 3, run: 1 });
    await tenant.change(name, { running: false });
    await unitIs(name, { phase: 'Stopped', message: 'stopped' });
    clock.ahead = 0;
    await tenant.change(name, { running: true });
    await started(unit, 1, 2);
  });

  test('whose allocation is deleted is stopped, and says so', async () => {
    await fleet.makePool('robbed');
    const { unit, nodeUnit } = await runs('robbed');
    const [allocation] = await tenant.allocationsOf(unit);
    await tenant.allocations().delete(allocation!.metadata.name!);
    await eventually(async () => expect((await fleet.of(unit))[0]!.spec.stopped).toBe(true));
    // The node is cleaned when the program has ended, and not under it.
    const bookings = cloud.platform.resource<NodeBooking>(nodeBookingKind);
    const tasks = cloud.platform.resource<NodeTask>(nodeTaskKind).in('node-robbed-0');
    await eventually(async () => expect((await bookings.get('robbed-0')).spec.entries).toMatchObject([{ state: 'Releasing' }]));
    expect((await tasks.list()).items).toEqual([]);
    await fleet.report(nodeUnit, ended);
    await eventually(async () =>
      expect((await tasks.list()).items).toMatchObject([{ spec: { nodeClean: { allocation: nodeUnit.spec.allocation } } }]),
    );
    await unitIs('robbed', { phase: 'Failed', message: 'its allocation was deleted' });
    await eventually(async () => expect(await fleet.of(unit)).toEqual([]));
  });

  test('waits with the message of its allocation', async () => {
    await tenant.create('early', { offering: 'none' });
    await unitIs('early', { phase: 'Pending', message: 'there is no offering none' });
    await tenant.units().delete('early');
    await eventually(async () => expect(await tenant.isGone('early')).toBe(true));
  });

  test('tells its story in events', async () => {
    const events = tenant.client.resource({ group: '', version: 'v1', resource: 'events', namespaced: true }).in('default');
    await eventually(async () => {
      const { items } = await events.list();
      const of = (name: string) =>
        items
          .filter(
            (one) =>
              (one['involvedObject'] as { name: string; kind: string }).name === name &&
              (one['involvedObject'] as { kind: string }).kind === 'GPUUnit',
          )
          .map((one) => one['reason']);
      expect(new Set(of('silent'))).toEqual(new Set(['Allocated', 'Started', 'NodeSilent', 'NodeBack']));
      expect(new Set(of('fenced'))).toEqual(new Set(['Allocated', 'Started', 'NodeSilent', 'StartedAgain']));
      expect(new Set(of('timelimit'))).toEqual(new Set(['Allocated', 'Started', 'Ended']));
    });
  });

  test('on several nodes ends everywhere when it fails on one', async () => {
    await fleet.makePool('gang', { nodes: 2, gpus: 1 });
    const unit = await tenant.create('gang', { offering: 'gang', nodes: 2 });
    const [first, second] = await started(unit, 2);
    expect([first!.spec.rank, second!.spec.rank]).toEqual([0, 1]);
    expect(first!.spec.peers!.map(({ rank }) => rank)).toEqual([0, 1]);
    expect(new Set(second!.spec.peers!.map(({ address }) => address))).toEqual(new Set(['10.0.0.1', '10.0.0.2']));
    for (const one of [first!, second!]) await fleet.report(one, running);
    await unitIs('gang', { phase: 'Running' });
    await fleet.report(second!, { phase: 'Ended', exitCode: 7, reason: 'Error', finishedAt: '2026-01-01T00:00:05Z' });
    await eventually(async () => expect((await fleet.of(unit))[0]!.spec).toMatchObject({ stopped: true, stopReason: 'Stopped' }));
    await fleet.report(first!, ended);
    await unitIs('gang', { phase: 'Failed', exitCode: 7, message: 'the program with rank 1 ended: exit code 7' });
  });

  test.each([
    ['Never', 'Failed'],
    ['OnFailure', 'Pending'],
  ] as const)('that nobody knows the end of starts again by its policy %s', async (restartPolicy, phase) => {
    const name = `rebooted-${restartPolicy.toLowerCase()}`;
    await fleet.makePool(name);
    const { unit, nodeUnit } = await runs(name, { restartPolicy });
    await fleet.report(nodeUnit, { phase: 'Lost', reason: 'MachineRestarted', message: 'the machine was restarted' });
    if (phase === 'Failed') await unitIs(name, { phase, message: 'the program ended: the machine was restarted' });
    else expect((await started(unit, 1, 2))[0]!.spec.allocation).toBe(nodeUnit.spec.allocation);
  });

  test('waits for a missing Secret by its name, without an allocation', async () => {
    await fleet.makePool('secret');
    const env = [{ name: 'TOKEN', secret: { name: 'tokens', key: 'hub' } }];
    const unit = await tenant.create('secret', { offering: 'secret', env });
    const missing = (message: string) =>
      eventually(async () =>
        expect((await tenant.units().get('secret')).status).toMatchObject({
          phase: 'Pending',
          message,
          conditions: expect.arrayContaining([expect.objectContaining({ type: 'Configured', status: 'False', message })]),
        }),
      );
    await missing('there is no Secret tokens');
    expect(await tenant.allocationsOf(unit)).toEqual([]);
    const secrets = tenant.client.resource({ group: '', version: 'v1', resource: 'secrets', namespaced: true }).in('default');
    await secrets.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'tokens', namespace: 'default' },
      stringData: { other: 'x' },
    });
    await missing('the Secret tokens has no key hub, which the variable TOKEN needs');
    await secrets.patch('tokens', { type: 'merge', patch: { stringData: { hub: 'sesame' } } });
    const [nodeUnit] = await started(unit);
    expect(nodeUnit!.spec.secrets).toBe(true);
    expect(JSON.stringify(nodeUnit)).not.toContain('sesame');
  });

  test('gets its secrets when its node asks for them, also a second time', async () => {
    // There is no node that would take them.
    using sent = vi.spyOn(Resource.prototype, 'writeSubresource').mockResolvedValue({});
    const calls = () => sent.mock.calls.filter(([, { subresource }]) => subresource === 'secrets');
    const unit = await tenant.units().get('secret');
    const [nodeUnit] = await started(unit);
    const { name } = nodeUnit!.metadata;
    await fleet.report(nodeUnit!, { phase: 'Waiting', reason: 'SecretsMissing' });
    await eventually(async () =>
      expect(calls()[0]).toEqual([name, { subresource: 'secrets', method: 'PUT', body: { env: { TOKEN: 'sesame' } } }]),
    );
    await fleet.report(nodeUnit!, { phase: 'Waiting', reason: 'UploadMissing' });
    await fleet.report(nodeUnit!, { ...running, reason: null as never });
    await unitIs('secret', { phase: 'Running' });
    const before = calls().length;
    const secrets = tenant.client.resource({ group: '', version: 'v1', resource: 'secrets', namespaced: true }).in('default');
    await secrets.patch('tokens', { type: 'merge', patch: { stringData: { hub: 'changed' } } });
    await fleet.report(nodeUnit!, { phase: 'Waiting', reason: 'SecretsMissing' });
    await eventually(async () => expect(calls().slice(before).at(-1)?.[1]).toMatchObject({ body: { env: { TOKEN: 'changed' } } }));
    await secrets.delete('tokens');
    await fleet.report(nodeUnit!, { ...running, reason: null as never });
    await unitIs('secret', { phase: 'Running' });
    await fleet.report(nodeUnit!, { phase: 'Waiting', reason: 'SecretsMissing' });
    await unitIs('secret', {
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Configured', status: 'False', message: 'there is no Secret tokens' }),
      ]),
    });
    expect(JSON.stringify([await tenant.units().get('secret'), cloud.log])).not.toContain('sesame');
  });

  test.each([
    ['spec.network', { offering: 'x', network: 'Host', resources: undefined }, undefined],
    [
      'spec.network',
      { offering: undefined, resources: { cpu: 1 }, network: 'Host' },
      'must not be Host without an offering of whole nodes',
    ],
    ['spec.liveness.http.port', { offering: 'x', liveness: { http: { port: 'web' } } }, 'must be a number or the name of one of the ports'],
    ['spec.access.port', { offering: 'x', access: { port: 'web' } }, 'must be the name of one of the ports'],
    ['spec.offering', {}, 'must be set if resources is not, and only then'],
    ['spec', { offering: 'x', command: undefined }, 'must have an image or a command'],
  ])('with an invalid %s is refused: %j', async (field, spec, message) => {
    const creation = tenant.create('invalid', spec as never);
    if (message === undefined) await creation.then(() => tenant.units().delete('invalid'));
    else await expect(creation).rejects.toMatchObject({ code: 422, message: expect.stringContaining(`${field}: Invalid value`) });
    if (message !== undefined)
      await expect(tenant.create('invalid', spec as never)).rejects.toMatchObject({ message: expect.stringContaining(message) });
  });

  test('in the network of the node needs an offering of whole nodes', async () => {
    await fleet.makePool('shared');
    await tenant.create('shared', { offering: 'shared', network: 'Host' });
    await unitIs('shared', { phase: 'Pending', message: 'spec.network: Host needs an offering of whole nodes, and shared is not one' });
    await tenant.change('shared', { network: 'Isolated' });
    await unitIs('shared', { phase: 'Starting' });
    await fleet.makePool('whole', { exclusive: true });
    const unit = await tenant.create('whole', { offering: 'whole', network: 'Host' });
    const [nodeUnit] = await started(unit);
    expect(nodeUnit!.spec).toMatchObject({ exclusive: true, cpu: 0, memory: 0, network: 'Host' });
    expect(nodeUnit!.spec.devices).toHaveLength(8);
  });
});
