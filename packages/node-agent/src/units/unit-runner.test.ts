import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, fixedCredentials } from '@capstan/client';
import { expect, test } from 'vitest';
import { RememberedNames } from './records/remembered.ts';
import { UnitRunner } from './unit-runner.ts';

test('a runner that has not read its records yet takes every volume for used', async () => {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'capstan-unit-runner-'));
  const stop = new AbortController();
  using client = new Client({ server: 'http://127.0.0.1:1', namespace: 'default', credentials: fixedCredentials({}) });
  {
    await using cleaned = await RememberedNames.open({ file: join(stateDirectory, 'cleaned'), limit: 10, isName: () => true });
    await using runner = await UnitRunner.open({
      drivers: [],
      allowUnisolated: false,
      client,
      node: 'n1',
      stateDirectory,
      cleaned,
      storages: { pathOf: async () => undefined },
      gpus: { status: () => [], inventories: () => [], readings: () => [] },
      backoff: { base: 10, max: 50 },
      log: () => {},
    });
    expect(runner.uses('a')).toBe(true);
    const running = runner.run(stop.signal);
    await expect.poll(() => runner.uses('a')).toBe(false);
    stop.abort();
    await running;
  }
  rmSync(stateDirectory, { recursive: true });
});
