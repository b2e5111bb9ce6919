import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { Supervisor } from '../processes/supervisor.ts';
import { serviceSuite } from '../suite/services.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-services-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** `processes/systemd.test.ts` runs the same with systemd. */
describe('services under the supervisor', () => {
  serviceSuite({ directory, processes: new Supervisor({ directory: join(directory, 'processes'), groups: undefined }) });
});
