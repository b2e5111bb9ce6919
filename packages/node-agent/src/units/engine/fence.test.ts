import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { becomes, eachMachine, patience } from '../../suite/unit-machines.ts';
import { UnitProblem } from '../drivers/driver.ts';
import type { UnitGuards } from '../guards/guards.ts';
import { noGuards } from '../testing/engine.ts';
import type { FakeDriver } from '../testing/fake-driver.ts';
import { nodeUnit } from '../testing/node-units.ts';
import { LastContact } from './contact.ts';

const machine = eachMachine();
let driver: FakeDriver;
beforeEach(() => ({ driver } = machine()));
const fenced = { fenceAfter: '60s', restartPolicy: 'Always' } as const;

/** Guards of which some functions are others. */
const guarded = (guards: Partial<UnitGuards>) => ({ guards: () => ({ ...noGuards, ...guards }) });

describe('a unit with a guard', () => {
  test('does not start while there is no guard, and starts once there is one', async () => {
    const arm = vi.fn(async () => {}).mockRejectedValueOnce(new UnitProblem('DriverUnavailable', 'no Perl'));
    await using agent = await machine().start(guarded({ arm }));
    await agent.engine.accept(nodeUnit('a-1', fenced));
    await becomes(agent, 'a-1', { phase: 'Running' });
    expect(agent.reported.get('a-1')).toContainEqual(expect.objectContaining({ phase: 'Preparing', message: 'no Perl' }));
    expect(driver.starts).toEqual(['a-1 1']);
  });

  test('ends at once and is started again if its guard has gone before it knew the program', async () => {
    const keep = vi.fn(async () => {}).mockRejectedValueOnce(new UnitProblem('DriverUnavailable', 'killed'));
    await using agent = await machine().start(guarded({ keep }));
    await agent.engine.accept(nodeUnit('b-1', fenced));
    await becomes(agent, 'b-1', { phase: 'Running' });
    expect(driver.starts).toEqual(['b-1 0', 'b-1 1']);
    expect((await driver.find('b-1', 0))?.phase).toBe('exited');
  });

  test('goes on without a guard when it runs already, because its agent ends it', async () => {
    await using first = await machine().start();
    await first.engine.accept(nodeUnit('c-1', fenced));
    await becomes(first, 'c-1', { phase: 'Running' });
    await first[Symbol.asyncDispose]();
    const keep = vi.fn(async () => {}).mockRejectedValue(new UnitProblem('DriverUnavailable', 'no Perl'));
    await using agent = await machine().start(guarded({ keep }));
    await becomes(agent, 'c-1', { phase: 'Running', ready: true });
    expect(driver.starts).toEqual(['c-1 0']);
  });

  test('that its guard has ended is fenced and not started again, although the control plane is reached', async () => {
    await using agent = await machine().start(guarded({ hasEnded: async () => true }));
    await agent.engine.accept(nodeUnit('d-1', fenced));
    await becomes(agent, 'd-1', { phase: 'Running' });
    driver.exit('d-1', 137);
    await becomes(agent, 'd-1', { phase: 'Ended', reason: 'Fenced', exitCode: 137 });
    expect(driver.starts).toEqual(['d-1 0']);
  });

  test.each([
    [137, 'Fenced'],
    [0, 'Completed'],
  ] as const)('that ended with %i while no agent ran and the node was cut off is %s', async (code, reason) => {
    const first = await machine().start();
    await first.engine.accept(nodeUnit('e-1', { fenceAfter: '60s' }));
    await becomes(first, 'e-1', { phase: 'Running' });
    await first[Symbol.asyncDispose]();
    driver.exit('e-1', code);
    machine().later(60_000);
    await using agent = await machine().start();
    await becomes(agent, 'e-1', { phase: 'Ended', reason });
  });

  test('does not start on a node that has been suspended for too long', async () => {
    await using agent = await machine().start({ times: { fenceInterval: 3_600_000 } });
    driver.onPrepare = async () => machine().later(60_000);
    await agent.engine.accept(nodeUnit('f-1', fenced));
    await becomes(agent, 'f-1', { phase: 'Ended', reason: 'Fenced' });
    expect(driver.starts).toEqual([]);
  });
});

describe('the stored contact', () => {
  const stored = (file: string): number => (JSON.parse(readFileSync(file, 'utf8')) as { uptime: number }).uptime;

  test('is there from the beginning, and is renewed where no file can be created', async () => {
    const { state, clock } = machine();
    mkdirSync(state);
    const file = join(state, 'contact');
    const contact = await LastContact.open(file, clock);
    expect(stored(file)).toBe(clock.uptime);
    // As on a full disk.
    mkdirSync(`${file}.new`);
    contact.record({ ...clock, uptime: 123_456_789.5 });
    await contact.settled();
    expect(stored(file)).toBe(123_456_789.5);
    contact.record({ ...clock, uptime: 123_459_790 });
    await vi.waitFor(() => expect(stored(file)).toBe(123_459_790), patience);
  });
});
