import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeUnitStatus } from '@capstan/api';
import { afterAll, beforeEach, expect, vi } from 'vitest';
import type { Moment } from '../time/moment.ts';
import { startEngine, type TestEngine, type TestEngineOptions } from '../units/testing/engine.ts';
import { FakeDriver } from '../units/testing/fake-driver.ts';

export const patience = { timeout: 10_000, interval: 5 };

/** A machine for each test: a state directory, a driver and a clock that outlive engines. */
export class Machine {
  state = '';
  driver = new FakeDriver();
  clock: Moment = { wall: Date.UTC(2031, 0, 1), boot: 'one', uptime: 1_000 };

  later(time: number): void {
    this.clock = { ...this.clock, wall: this.clock.wall + time, uptime: this.clock.uptime + time };
  }

  reboot(): void {
    this.clock = { wall: this.clock.wall + 60_000, boot: `${this.clock.boot}+`, uptime: 10 };
  }

  start(more: Partial<TestEngineOptions> = {}): Promise<TestEngine> {
    return startEngine({ directory: this.state, driver: this.driver, now: () => this.clock, ...more });
  }
}

/** The machine of the present test. */
export function eachMachine(): () => Machine {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-units-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  let count = 0;
  let machine = new Machine();
  beforeEach(() => {
    machine = new Machine();
    machine.state = join(directory, `agent-${count++}`);
  });
  return () => machine;
}

export const becomes = (agent: TestEngine, name: string, status: Partial<NodeUnitStatus>): Promise<void> =>
  vi.waitFor(() => expect(agent.status(name)).toMatchObject(status), patience);
