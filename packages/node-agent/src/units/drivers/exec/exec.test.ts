import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll } from 'vitest';
import { unitDriverSuite } from '../../../suite/unit-driver.ts';
import { openExecDriver } from './open.ts';
import { echoServer } from './testing.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-exec-'));
afterAll(() => rmSync(directory, { recursive: true }));

const options = { directory, log: { files: 2, bytes: 65536 } };
const known = await openExecDriver(options);

describeUnless(known.isolation === 'full' ? undefined : known.why, 'commands as root', () => {
  unitDriverSuite({ renew: () => openExecDriver({ ...options, known }), echoServer });
});
