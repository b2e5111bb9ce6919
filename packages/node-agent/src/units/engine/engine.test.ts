import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gpu } from '@capstan/api';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { becomes, eachMachine, patience } from '../../suite/unit-machines.ts';
import { UnitProblem } from '../drivers/driver.ts';
import { MemorySecrets } from '../secrets/store.ts';
import { startEngine, type TestEngine, type TestEngineOptions } from '../testing/engine.ts';
import type { FakeDriver } from '../testing/fake-driver.ts';
import { nodeUnit } from '../testing/node-units.ts';

const machine = eachMachine();
let driver: FakeDriver;
let state: string;
beforeEach(() => ({ driver, state } = machine()));
const later = (time: number): void => machine().later(time);
const start = (more: Partial<TestEngineOptions> = {}): Promise<TestEngine> => machine().start(more);

describe('a unit', () => {
  test('goes from Pending to Ended, and its end has a reason', async () => {
    await using agent = await start();
    await agent.engine.accept(nodeUnit('u-1'));
    await becomes(agent, 'u-1', { phase: 'Running', ready: true, pid: 2, startedAt: '2031-01-01T00:00:00Z', driver: 'exec' });
    driver.exit('u-1', 7);
    await becomes(agent, 'u-1', { phase: 'Ended', reason: 'Error', exitCode: 7, ready: false });
    const phases = agent.reported.get('u-1')!.map(({ phase }) => phase);
    expect(phases.filter((phase, at) => phase !== phases[at - 1])).toEqual(['Preparing', 'Running', 'Ended']);
    expect(driver.starts).toEqual(['u-1 0']);
  });

  test('is on the disk before it is prepared and before it is started, and not in between', async () => {
    await using agent = await start();
    const written: string[] = [];
    const write = agent.records.write.bind(agent.records);
    agent.records.write = async (record) => {
      written.push(record.state.phase);
      await write(record);
    };
    await agent.engine.accept(nodeUnit('w-0'));
    await becomes(agent, 'w-0', { phase: 'Running' });
    expect(written).toEqual(['Pending', 'Running']);
  });

  test('is made while its record gets to the disk, and its program starts after that', async () => {
    await using agent = await start();
    const disk = Promise.withResolvers<void>();
    const write = agent.records.write.bind(agent.records);
    agent.records.write = async (record) => {
      if (record.state.phase === 'Running') await disk.promise;
      await write(record);
    };
    await agent.engine.accept(nodeUnit('w-0'));
    await vi.waitFor(() => expect(driver.begun).toEqual(['w-0 0']), patience);
    expect(driver.starts).toEqual([]);
    expect(agent.status('w-0')).toMatchObject({ phase: 'Preparing' });
    disk.resolve();
    await becomes(agent, 'w-0', { phase: 'Running' });
    expect(driver.starts).toEqual(['w-0 0']);
  });

  test('that is warm is prepared and never started, also by the next agent and after the loss of its record', async () => {
    {
      await using agent = await start();
      await agent.engine.accept(nodeUnit('w-1', { warm: true }));
      await becomes(agent, 'w-1', { phase: 'Warm' });
    }
    const prepared: string[] = [];
    driver.onPrepare = async ({ id }) => void prepared.push(id);
    await using agent = await start();
    await becomes(agent, 'w-1', { phase: 'Warm' });
    // The next driver knows nothing of what the one before has prepared, such as the network that must stay.
    await vi.waitFor(() => expect(prepared).toEqual(['w-1']), patience);
    await agent.engine.accept({ ...nodeUnit('w-2', { warm: true }), status: { phase: 'Preparing' } });
    await becomes(agent, 'w-2', { phase: 'Warm' });
    await agent.engine.accept(nodeUnit('w-1', { warm: true, stopped: true }, { generation: 2 }));
    await becomes(agent, 'w-1', { phase: 'Ended', reason: 'Stopped' });
    await agent.engine.remove('w-2');
    expect(agent.engine.names).not.toContain('w-2');
    expect(driver.starts).toEqual([]);
  });

  test('takes only transitions of the table, whatever happens', async () => {
    await using agent = await start({ times: { restartDelay: 1 } });
    const names = Array.from({ length: 20 }, (_, at) => `p-${at}`);
    for (const [at, name] of names.entries())
      await agent.engine.accept(
        nodeUnit(name, { restartPolicy: (['Never', 'OnFailure', 'Always'] as const)[at % 3]!, upload: at % 4 === 0 }),
      );
    await vi.waitFor(() => expect(driver.starts.length).toBeGreaterThanOrEqual(15), patience);
    for (const [at, name] of names.entries()) {
      if (driver.starts.includes(`${name} 0`) && at % 2 === 0) driver.exit(name, at % 5);
      else if (driver.starts.includes(`${name} 0`)) driver.lose(name, 'gone');
      if (at % 7 === 0) await agent.engine.accept(nodeUnit(name, { stopped: true }, { generation: 2 }));
    }
    for (const name of names) await agent.engine.remove(name);
    expect(agent.lines.filter((line) => line.includes('cannot go on'))).toEqual([]);
    for (const statuses of agent.reported.values()) expect(statuses.at(-1)?.phase).toMatch(/^(Ended|Lost)$/);
    expect([...driver.rooms.values()].filter((room) => room.state.phase === 'running')).toEqual([]);
  });

  test.each([
    ['Never', 0, false],
    ['Never', 1, false],
    ['OnFailure', 0, false],
    ['OnFailure', 1, true],
    ['Always', 0, true],
    ['Always', 1, true],
  ] as const)('with the policy %s and exit code %i is started again: %s', async (restartPolicy, code, isAgain) => {
    await using agent = await start();
    await agent.engine.accept(nodeUnit('r-1', { restartPolicy }));
    await becomes(agent, 'r-1', { phase: 'Running' });
    driver.exit('r-1', code);
    later(60_000);
    await becomes(agent, 'r-1', isAgain ? { phase: 'Running', restarts: 1 } : { phase: 'Ended', exitCode: code });
    expect(driver.starts.length).toBe(isAgain ? 2 : 1);
  });

  test('waits longer before each restart, and less again after it was well', async () => {
    await using agent = await start({ times: { restartDelay: 10_000, longestRestartDelay: 300_000, wellAfter: 600_000 } });
    await agent.engine.accept(nodeUnit('w-1', { restartPolicy: 'Always' }));
    for (const delay of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      await becomes(agent, 'w-1', { phase: 'Running' });
      driver.exit('w-1', 1);
      await becomes(agent, 'w-1', { phase: 'Restarting', exitCode: 1, reason: 'Error' });
      later(delay - 1);
      agent.engine.find('w-1')!.wake();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(agent.status('w-1')?.phase).toBe('Restarting');
      later(1);
      agent.engine.find('w-1')!.wake();
    }
    await becomes(agent, 'w-1', { phase: 'Running', restarts: 7 });
    later(600_000);
    driver.exit('w-1', 1);
    await becomes(agent, 'w-1', { phase: 'Restarting' });
    later(10_000);
    agent.engine.find('w-1')!.wake();
    await becomes(agent, 'w-1', { phase: 'Running', restarts: 8 });
  });

  test.each([
    [{}, 'Stopped'],
    [{ stopReason: 'TimeLimit' }, 'TimeLimit'],
    [{ stopReason: 'Idle' }, 'Idle'],
  ] as const)('that is stopped with %j ends with %s and is not started again', async (more, reason) => {
    await using agent = await start();
    await agent.engine.accept(nodeUnit('s-1', { restartPolicy: 'Always' }));
    await becomes(agent, 's-1', { phase: 'Running' });
    await agent.engine.accept(nodeUnit('s-1', { restartPolicy: 'Always', stopped: true, ...more }, { generation: 2 }));
    await becomes(agent, 's-1', { phase: 'Ended', reason, exitCode: 143, observedGeneration: 2 });
    expect(driver.starts).toEqual(['s-1 0']);
  });

  test('that is stopped before it starts never starts', async () => {
    await using agent = await start();
    await agent.engine.accept(nodeUnit('s-2', { stopped: true }));
    await becomes(agent, 's-2', { phase: 'Ended', reason: 'Stopped' });
    expect(driver.starts).toEqual([]);
  });

  test('that is stopped while it is prepared does not wait for that', async () => {
    await using agent = await start();
    driver.onPrepare = async (_room, { onStep, signal }) => {
      onStep('pulls');
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    };
    await agent.engine.accept(nodeUnit('s-3'));
    await becomes(agent, 's-3', { phase: 'Preparing', step: 'pulls' });
    await agent.engine.accept(nodeUnit('s-3', { stopped: true }, { generation: 2 }));
    await becomes(agent, 's-3', { phase: 'Ended', reason: 'Stopped' });
  });

  test('that cannot be prepared says why, and tries again unless that is in vain', async () => {
    await using agent = await start();
    let tries = 0;
    driver.onPrepare = async () => {
      if (++tries < 3) throw new UnitProblem('RegistryUnavailable', 'the registry does not answer');
    };
    driver.onStart = async () => {
      if (tries++ === 3) throw new UnitProblem('NetworkUnavailable', 'no address is left');
    };
    await agent.engine.accept(nodeUnit('f-1'));
    await becomes(agent, 'f-1', { phase: 'Running', ready: true });
    const problems = agent.reported.get('f-1')!.flatMap(({ reason }) => reason ?? []);
    expect(problems).toEqual(expect.arrayContaining(['RegistryUnavailable', 'NetworkUnavailable']));
    expect(agent.status('f-1')).not.toHaveProperty('reason');
    driver.onPrepare = async () => {
      throw new UnitProblem('ImageMissing', 'there is no such image', { isFinal: true });
    };
    await agent.engine.accept(nodeUnit('f-2'));
    await becomes(agent, 'f-2', { phase: 'Ended', reason: 'ImageMissing', message: 'there is no such image' });
  });

  test('whose liveness probe fails is ended, and started again by its policy', async () => {
    await using agent = await start();
    const liveness = { tcp: { port: 80 }, initialDelay: '0s', period: '0s', timeout: '1s', failures: 2 };
    await agent.engine.accept(nodeUnit('l-1', { liveness }));
    await becomes(agent, 'l-1', {
      phase: 'Ended',
      reason: 'Unhealthy',
      exitCode: 143,
      message: expect.stringContaining('connection refused') as string,
    });
    await agent.engine.accept(nodeUnit('l-2', { liveness, restartPolicy: 'OnFailure' }));
    await vi.waitFor(() => {
      later(1_000);
      expect(agent.status('l-2')?.restarts).toBeGreaterThan(1);
    }, patience);
  });

  test('shows the end of its output', async () => {
    await using agent = await start();
    mkdirSync(state, { recursive: true });
    const files = ['old', 'new'].map((name) => join(state, name));
    const line = (text: string, tag = 'F'): string => `2031-01-01T00:00:00.000000001Z stdout ${tag} ${text}\n`;
    writeFileSync(files[0]!, Array.from({ length: 20 }, (_, at) => line(`line ${at}`)).join(''));
    writeFileSync(files[1]!, `${line('a long ', 'P')}${line('line')}${line(`${'x'.repeat(2_000)}`)}`);
    driver.logs.set('o-1 0', { files, complete: true });
    await agent.engine.accept(nodeUnit('o-1'));
    await becomes(agent, 'o-1', { phase: 'Running' });
    driver.exit('o-1', 1);
    await becomes(agent, 'o-1', { phase: 'Ended' });
    expect(agent.status('o-1')?.lastLines).toEqual([
      ...Array.from({ length: 8 }, (_, at) => `line ${at + 12}`),
      'a long line',
      'x'.repeat(1_024),
    ]);
  });
});

describe('a unit that needs something', () => {
  test('waits for its secrets, and gets them as variables', async () => {
    await using agent = await start();
    await agent.engine.accept(
      nodeUnit('n-1', {
        secrets: true,
        env: [
          { name: 'A', value: '1' },
          { name: 'B', secret: { name: 's', key: 'k' } },
        ],
      }),
    );
    await becomes(agent, 'n-1', { phase: 'Waiting', reason: 'SecretsMissing' });
    await agent.secrets.put('n-1', { env: { B: 'hidden' }, pullConfig: '{}' });
    agent.engine.find('n-1')!.wake();
    await becomes(agent, 'n-1', { phase: 'Running' });
    expect(driver.rooms.get('n-1 0')!.room).toMatchObject({ environment: { A: '1', B: 'hidden' }, pullConfig: '{}' });
    expect(readFileSync(join(agent.records.folder('n-1'), 'record.json'), 'utf8')).not.toContain('hidden');
  });

  test('asks for its secrets again after a restart of the machine', async () => {
    const first = await start();
    await first.engine.accept(nodeUnit('n-2', { secrets: true, restartPolicy: 'Always' }));
    await first.secrets.put('n-2', { env: {} });
    first.engine.find('n-2')!.wake();
    await becomes(first, 'n-2', { phase: 'Running' });
    await first[Symbol.asyncDispose]();
    driver.lose('n-2', 'the machine restarted');
    machine().reboot();
    await using agent = await start({ secrets: new MemorySecrets() });
    await agent.engine.accept(nodeUnit('n-2', { secrets: true, restartPolicy: 'Always' }));
    await becomes(agent, 'n-2', { phase: 'Waiting', reason: 'SecretsMissing' });
  });

  test('ends if no files arrive in time, and not while they do', async () => {
    await using agent = await start({ times: { uploadDeadline: 600_000 } });
    await agent.engine.accept(nodeUnit('n-3', { upload: true }));
    await becomes(agent, 'n-3', { phase: 'Waiting', reason: 'UploadMissing' });
    const run = agent.engine.find('n-3')!;
    run.isUploading = true;
    later(600_000);
    run.wake();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(agent.status('n-3')?.phase).toBe('Waiting');
    run.isUploading = false;
    await becomes(agent, 'n-3', { phase: 'Ended', reason: 'UploadMissing' });
    expect(driver.starts).toEqual([]);
  });

  test('goes on with its files', async () => {
    await using agent = await start();
    await agent.engine.accept(nodeUnit('n-4', { upload: true }));
    await becomes(agent, 'n-4', { phase: 'Waiting' });
    await agent.engine.find('n-4')!.uploaded();
    await becomes(agent, 'n-4', { phase: 'Running' });
    expect(driver.rooms.get('n-4 0')!.room.uploads).toBe(join(agent.records.folder('n-4'), 'uploads'));
  });

  test('has a folder for its files made while it waits for them, but not while they come', async () => {
    const asked: string[] = [];
    const uploads = {
      begin: (name: string) => void asked.push(`begin ${name}`),
      end: async (name: string) => void asked.push(`end ${name}`),
    };
    await using agent = await start({ uploads });
    await agent.engine.accept(nodeUnit('n-5', { upload: true, secrets: true }));
    await becomes(agent, 'n-5', { phase: 'Waiting', reason: 'SecretsMissing' });
    expect(asked).toEqual([]);
    await agent.secrets.put('n-5', { env: {} });
    const run = agent.engine.find('n-5')!;
    run.wake();
    await vi.waitFor(() => expect(asked).toEqual(['begin n-5']), patience);
    run.isUploading = true;
    await becomes(agent, 'n-5', { phase: 'Waiting', reason: 'UploadMissing' });
    expect(asked).toEqual(['begin n-5']);
    run.isUploading = false;
    await vi.waitFor(() => expect(asked).toEqual(['begin n-5', 'begin n-5']), patience);
    await agent.engine.remove('n-5');
    await vi.waitFor(() => expect(asked.at(-1)).toBe('end n-5'), patience);
  });

  test('waits for its storages', async () => {
    await using agent = await start();
    const mounts = [{ storage: 'data', path: '/data', readOnly: true }];
    await agent.engine.accept(nodeUnit('n-5', { mounts, storages: [{ storage: 'data', uid: 'v1' }] }));
    await becomes(agent, 'n-5', {
      phase: 'Preparing',
      reason: 'StorageUnavailable',
      message: 'the storage data is not on this node, or is not ready',
    });
    mkdirSync(join(state, 'storages', 'v1'), { recursive: true });
    await becomes(agent, 'n-5', { phase: 'Running' });
    expect(driver.rooms.get('n-5 0')!.room.mounts).toEqual([{ source: join(state, 'storages', 'v1'), path: '/data', readOnly: true }]);
  });

  test('gets the devices of its uuids, and none that is missing or has failed', async () => {
    const gpu = { uuid: 'GPU-1', deviceFiles: ['/dev/nvidia3'], mig: { mode: 'enabled', devices: [{ uuid: 'MIG-1' }] } } as unknown as Gpu;
    const health = { state: 'Healthy', reason: '', message: 'GPU-1 fell off the bus', since: 0 } as {
      state: 'Healthy' | 'Failed';
    } & Record<'reason' | 'message', string> & { since: number };
    const inventory = { source: 'nvidia', gpus: [gpu], unreachable: [], linkGroups: [] } as const;
    const devices = { status: () => [{ uuid: 'GPU-1', health, gpu }], inventories: () => [inventory] };
    await using agent = await start({ devices });
    await agent.engine.accept(nodeUnit('d-1', { devices: ['GPU-1', 'MIG-1'] }));
    await becomes(agent, 'd-1', { phase: 'Running' });
    expect(driver.rooms.get('d-1 0')!.room.devices).toEqual([
      { uuid: 'GPU-1', vendor: 'nvidia', files: ['/dev/nvidia3'] },
      { uuid: 'MIG-1', vendor: 'nvidia', files: ['/dev/nvidia3'] },
    ]);
    health.state = 'Failed';
    await agent.engine.accept(nodeUnit('d-2', { devices: ['GPU-1'] }));
    await becomes(agent, 'd-2', { phase: 'Preparing', reason: 'DeviceUnavailable', message: 'GPU-1 fell off the bus' });
    await agent.engine.accept(nodeUnit('d-3', { devices: ['GPU-9'] }));
    await becomes(agent, 'd-3', { phase: 'Preparing', reason: 'DeviceUnavailable', message: 'the node does not see the GPU GPU-9' });
    expect(driver.starts).toEqual(['d-1 0']);
  });

  test('knows its place in a gang, also as torchrun reads it', async () => {
    await using agent = await start();
    const peers = [
      { rank: 0, address: '10.0.0.1' },
      { rank: 1, address: '10.0.0.2' },
    ];
    await agent.engine.accept(nodeUnit('g-1', { rank: 1, peers, env: [{ name: 'MASTER_PORT', value: '1234' }] }));
    await becomes(agent, 'g-1', { phase: 'Running' });
    expect(driver.rooms.get('g-1 0')!.room).toMatchObject({
      hostname: 'train-1',
      environment: {
        CAPSTAN_UNIT_NAME: 'train',
        CAPSTAN_RANK: '1',
        CAPSTAN_NODES: '2',
        MASTER_ADDR: '10.0.0.1',
        MASTER_PORT: '1234',
        PET_NNODES: '2',
        PET_NODE_RANK: '1',
        PET_MASTER_ADDR: '10.0.0.1',
        PET_NPROC_PER_NODE: '1',
      },
    });
  });

  test('is refused where units are not isolated, unless that is allowed', async () => {
    const open = Object.assign(driver, { isolation: 'none' as const, why: 'the agent is not root' });
    await using agent = await start({ driver: open });
    await agent.engine.accept(nodeUnit('i-1'));
    await becomes(agent, 'i-1', {
      phase: 'Ended',
      reason: 'DriverUnavailable',
      message: expect.stringContaining('--allow-unisolated') as string,
    });
    await using permissive = await startEngine({
      directory: `${state}-b`,
      driver: open,
      now: () => machine().clock,
      allowUnisolated: true,
    });
    await permissive.engine.accept(nodeUnit('i-2'));
    await becomes(permissive, 'i-2', { phase: 'Running' });
  });
});

test('200 units start, restart and end at once', async () => {
  await using agent = await start();
  const names = Array.from({ length: 200 }, (_, at) => `m-${at}`);
  await Promise.all(names.map((name) => agent.engine.accept(nodeUnit(name, { restartPolicy: 'OnFailure' }))));
  await vi.waitFor(() => expect(driver.starts.length).toBe(200), { timeout: 30_000, interval: 20 });
  for (const name of names) driver.exit(name, 1);
  await vi.waitFor(
    () => {
      later(1_000);
      for (const name of names) agent.engine.find(name)?.wake();
      expect(driver.starts.length).toBe(400);
    },
    { timeout: 30_000, interval: 20 },
  );
  for (const name of names) driver.exit(name, 0);
  await vi.waitFor(() => expect(names.filter((name) => agent.status(name)?.phase === 'Ended').length).toBe(200), {
    timeout: 30_000,
    interval: 20,
  });
  expect(new Set(driver.starts).size).toBe(400);
});
