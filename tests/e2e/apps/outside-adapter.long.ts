import { join } from 'node:path';
import { type Host, HostNetwork, requireTool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { AppPlatform } from './platform.ts';

const folder = join(import.meta.dirname, 'beacon');
const patience = { timeout: 60_000, interval: 250 };

/** The adapter is in Python, and was written with `docs/apps-adapters.md` alone. */
describeUnless(await HostNetwork.problem(), 'an app whose adapter is a web service of somebody else', () => {
  const owned = new AsyncDisposableStack();
  let platform: AppPlatform;
  let host: Host;

  beforeAll(async () => {
    platform = owned.use(await AppPlatform.start());
    const adapter = platform.network.start('adapter', ['python3', join(folder, 'adapter.py'), '8091', 'swordfish']);
    owned.defer(() => adapter.stop());
    await adapter.waitUntil('it listens', () => adapter.output.includes('listening'));
    host = await platform.addNode('gpu-1', async () => {});
    await platform.allocate('first');
    await platform.run('ws', 'use', 'root:platform');
    await platform.kubectl(await requireTool('kubectl'), 'apply', '--filename', join(folder, 'catalog.yaml'));
    await platform.run('ws', 'use', 'root:main:vision');
  });
  afterAll(() => owned.disposeAsync());

  const deploy = (...set: string[]) =>
    platform.run('app', 'deploy', 'light', '--app', 'beacon', '--placement', 'allocation_ids=first', ...set, '--wait');

  test('is refused by the adapter, whose words the tenant reads', async () => {
    await platform.deploy('light', { app: 'beacon', placement: { allocation_ids: [] } });
    await platform.status('light', { health: 'failed', lastErrors: [{ code: 'EvenMembers', message: expect.stringContaining('odd') }] });
    await platform.instances().delete('light');
    await vi.waitFor(async () => expect((await platform.instances().list()).items).toEqual([]), patience);
  });

  test('is deployed with a secret and a fact, and is healthy', async () => {
    await deploy();
    await platform.status('light', { state: 'running', phase: 'shining', health: 'healthy' });
    expect(host.read('/srv/beacon/state')).toMatch(/^red [0-9a-f]{32} \d+\./);
    const printed = await platform.run('app', 'logs', 'light', '--follow');
    expect(printed).toMatch(/\(succeeded\)/);
    expect(printed.trimEnd()).toMatch(/, deploy: succeeded$/);
  });

  test('changes, and has an operation of its own', async () => {
    await deploy('--set', 'colour=blue');
    expect(host.read('/srv/beacon/state')).toMatch(/^blue [0-9a-f]{32} \d+\./);
    await platform.run('app', 'do', 'light', 'blink', '--wait');
    expect(host.read('/srv/beacon/blinks')).toBe('gpu-1 blinks\n');
  });

  test('is repaired when it is asked for, and refuses what it cannot do', async () => {
    await host.run(['rm', '/srv/beacon/state']);
    await platform.status('light', { health: 'degraded' });
    const [member] = await platform.members();
    await platform.run('app', 'do', 'light', 'repair', '--member', member?.metadata.name ?? '', '--wait');
    await platform.status('light', { health: 'healthy' });
    await platform.instances().patch('light', { type: 'merge', patch: { spec: { stopped: true } } });
    await platform.status('light', { lastErrors: [{ code: 'OperationNotSupported', message: 'a beacon cannot stop' }] });
  });

  test('is removed without residues', async () => {
    await platform.run('app', 'rm', 'light', '--wait');
    await vi.waitFor(async () => expect((await platform.instances().list()).items).toEqual([]), patience);
    expect((await host.run(['ls', '/srv/beacon'])).stdout).toBe('');
  });
});
