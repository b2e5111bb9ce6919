import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { becomes, eachMachine, patience } from '../../suite/unit-machines.ts';
import { UnitProblem } from '../drivers/driver.ts';
import type { TestEngine, TestEngineOptions } from '../testing/engine.ts';
import type { FakeDriver } from '../testing/fake-driver.ts';
import { nodeUnit } from '../testing/node-units.ts';

const machine = eachMachine();
let driver: FakeDriver;
let state: string;
beforeEach(() => ({ driver, state } = machine()));
const later = (time: number): void => machine().later(time);
const start = (more: Partial<TestEngineOptions> = {}): Promise<TestEngine> => machine().start(more);

describe('an engine that starts again', () => {
  async function crash(name: string, spec: Parameters<typeof nodeUnit>[1] = {}): Promise<void> {
    await using agent = await start();
    await agent.engine.accept(nodeUnit(name, spec));
    await becomes(agent, name, { phase: 'Running' });
  }

  test('finds programs that run, and those that ended meanwhile', async () => {
    await crash('a-1');
    await crash('a-2');
    driver.exit('a-2', 3);
    await using agent = await start();
    await becomes(agent, 'a-1', { phase: 'Running', ready: true });
    await becomes(agent, 'a-2', { phase: 'Ended', exitCode: 3 });
    expect(driver.starts).toEqual(['a-1 0', 'a-2 0']);
  });

  test.each([
    ['Never', { phase: 'Lost', reason: 'Lost', message: 'killed' }, 1],
    ['OnFailure', { phase: 'Running', restarts: 1 }, 2],
  ] as const)('with the policy %s and a program that has vanished says %j', async (restartPolicy, status, starts) => {
    await crash('b-1', { restartPolicy });
    driver.lose('b-1', 'killed');
    later(60_000);
    await using agent = await start();
    await becomes(agent, 'b-1', status);
    expect(driver.starts.length).toBe(starts);
  });

  test('never starts a unit whose record says that it was about to', async () => {
    driver.onStart = () => new Promise(() => {});
    const first = await start();
    await first.engine.accept(nodeUnit('c-1'));
    await vi.waitFor(() => expect(first.records.all.get('c-1')?.state.phase).toBe('Running'), patience);
    driver.onStart = async () => {};
    await using agent = await start();
    await becomes(agent, 'c-1', { phase: 'Lost', reason: 'Lost' });
    await agent.engine.accept(nodeUnit('c-1'));
    expect(driver.starts).toEqual([]);
  });

  test.each([
    ['Never', { phase: 'Lost', reason: 'MachineRestarted' }, 1],
    ['OnFailure', { phase: 'Running', restarts: 1 }, 2],
    ['Always', { phase: 'Running', restarts: 1 }, 2],
  ] as const)('after a restart of the machine and with the policy %s says %j', async (restartPolicy, status, starts) => {
    await crash('d-1', { restartPolicy });
    driver.lose('d-1', 'gone');
    machine().reboot();
    await using agent = await start();
    await vi.waitFor(() => expect(['Lost', 'Preparing']).toContain(agent.status('d-1')?.phase), patience);
    // Not before the control plane confirms that the unit is still wanted here.
    expect(driver.starts.length).toBe(1);
    await agent.engine.accept(nodeUnit('d-1', { restartPolicy }));
    await becomes(agent, 'd-1', status);
    expect(driver.starts.length).toBe(starts);
  });

  test('does not start a unit again after a restart of the machine if it was stopped meanwhile', async () => {
    await crash('d-2', { restartPolicy: 'Always' });
    driver.lose('d-2', 'gone');
    machine().reboot();
    await using agent = await start();
    await agent.engine.accept(nodeUnit('d-2', { restartPolicy: 'Always', stopped: true }, { generation: 2 }));
    await becomes(agent, 'd-2', { phase: 'Ended', reason: 'Stopped' });
    expect(driver.starts).toEqual(['d-2 0']);
  });

  test('goes on to end a unit that was being ended', async () => {
    const first = await start();
    await first.engine.accept(nodeUnit('e-1', { restartPolicy: 'Always' }));
    await becomes(first, 'e-1', { phase: 'Running' });
    driver.onStop = () => new Promise(() => {});
    await first.engine.accept(nodeUnit('e-1', { restartPolicy: 'Always', stopped: true }, { generation: 2 }));
    await becomes(first, 'e-1', { phase: 'Stopping', reason: 'Stopped' });
    driver.onStop = async () => {};
    await using agent = await start();
    await becomes(agent, 'e-1', { phase: 'Ended', reason: 'Stopped' });
  });

  test('believes its record rather than an old status of the control plane', async () => {
    await crash('f-1');
    driver.exit('f-1', 0);
    await using agent = await start();
    await becomes(agent, 'f-1', { phase: 'Ended' });
    await agent.engine.accept({ ...nodeUnit('f-1', {}, { uid: 'another' }), status: { phase: 'Pending' } });
    await becomes(agent, 'f-1', { phase: 'Ended', reason: 'Completed' });
    expect(driver.starts).toEqual(['f-1 0']);
  });

  test('does not repeat a start that it has removed or lost its record of', async () => {
    await using agent = await start({ times: { logRetention: 0 } });
    await agent.engine.accept(nodeUnit('g-1'));
    await becomes(agent, 'g-1', { phase: 'Running' });
    await agent.engine.remove('g-1');
    await vi.waitFor(() => expect(agent.records.isForgotten('g-1')).toBe(true), patience);
    await agent.engine.accept(nodeUnit('g-1'));
    await becomes(agent, 'g-1', { phase: 'Lost' });
    await agent.engine.accept({ ...nodeUnit('g-2'), status: { phase: 'Running', startedAt: '2031-01-01T00:00:00Z' } });
    await becomes(agent, 'g-2', { phase: 'Lost', message: 'the node has lost its record of this unit' });
    expect(driver.starts).toEqual(['g-1 0']);
  });

  test('does not start a unit of an allocation that was cleaned up after, also while its record cannot be written', async () => {
    const cleaned = new Set(['allocation-j-1']);
    await using agent = await start({ isCleaned: (uid) => cleaned.has(uid) });
    await agent.engine.accept(nodeUnit('j-1'));
    await becomes(agent, 'j-1', { phase: 'Ended', reason: 'Stopped', message: 'the node was cleaned after the allocation of this unit' });
    agent.records.write = () => Promise.reject(new UnitProblem('DiskFull', 'full'));
    const accepting = agent.engine.accept(nodeUnit('j-2'));
    await becomes(agent, 'j-2', { phase: 'Pending', reason: 'DiskFull' });
    cleaned.add('allocation-j-2');
    await accepting;
    await becomes(agent, 'j-2', { phase: 'Ended', reason: 'Stopped' });
    expect(driver.starts).toEqual([]);
    expect(agent.engine.names).toEqual([]);
  });

  test('ends programs without a readable record, and never starts them', async () => {
    await crash('h-1', { restartPolicy: 'Always' });
    writeFileSync(join(state, 'units', 'h-1', 'record.json'), '{"version":1,"sta');
    await using agent = await start();
    await vi.waitFor(() => expect(driver.rooms.size).toBe(0), patience);
    await agent.engine.accept(nodeUnit('h-1', { restartPolicy: 'Always' }));
    await becomes(agent, 'h-1', { phase: 'Lost' });
    expect(driver.starts).toEqual(['h-1 0']);
  });

  test('removes every trace of a deleted unit, and its logs after a while', async () => {
    const first = await start();
    await first.engine.accept(nodeUnit('i-1'));
    await becomes(first, 'i-1', { phase: 'Running' });
    const file = join(state, 'output');
    writeFileSync(file, '2031-01-01T00:00:00Z stdout F kept\n');
    driver.logs.set('i-1 0', { files: [file], complete: true });
    await first.engine.remove('i-1');
    await vi.waitFor(() => expect(driver.rooms.size).toBe(0), patience);
    const kept = join(first.records.folder('i-1'), 'logs', '0', '0000');
    await vi.waitFor(() => expect(readFileSync(kept, 'utf8')).toContain('kept'), patience);
    await first[Symbol.asyncDispose]();
    later(24 * 3_600_000);
    await using agent = await start();
    await vi.waitFor(() => expect(() => readFileSync(kept)).toThrow(), patience);
    expect(agent.engine.names).toEqual([]);
  });
});

describe('a unit with fenceAfter', () => {
  test('ends when the control plane is silent for so long', async () => {
    await using agent = await start();
    await agent.engine.accept(nodeUnit('a-1', { fenceAfter: '60s', restartPolicy: 'Always' }));
    await agent.engine.accept(nodeUnit('a-2', { restartPolicy: 'Always' }));
    await becomes(agent, 'a-1', { phase: 'Running' });
    agent.contact.record(machine().clock);
    later(59_999);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(agent.status('a-1')?.phase).toBe('Running');
    agent.contact.record(machine().clock);
    later(59_999);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(agent.status('a-1')?.phase).toBe('Running');
    later(1);
    await becomes(agent, 'a-1', { phase: 'Ended', reason: 'Fenced' });
    expect(agent.status('a-2')?.phase).toBe('Running');
  });

  test('ignores a clock that jumps', async () => {
    await using agent = await start();
    await agent.engine.accept(nodeUnit('b-1', { fenceAfter: '60s' }));
    await becomes(agent, 'b-1', { phase: 'Running' });
    machine().clock = { ...machine().clock, wall: machine().clock.wall + 3_600_000 };
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(agent.status('b-1')?.phase).toBe('Running');
  });

  test.each([
    [30_000, 'Running'],
    [60_000, 'Ended'],
  ] as const)('counts the %i ms in which no agent ran, and is then %s', async (time, phase) => {
    const first = await start();
    first.contact.record(machine().clock);
    await first.engine.accept(nodeUnit('c-1', { fenceAfter: '60s' }));
    await becomes(first, 'c-1', { phase: 'Running' });
    await first[Symbol.asyncDispose]();
    later(time);
    await using agent = await start();
    await becomes(agent, 'c-1', { phase });
    later(30_000);
    await becomes(agent, 'c-1', { phase: 'Ended', reason: 'Fenced' });
  });
});
