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

test('processes of a service stay when it ends, if it is made for that, and end when it is stopped', async () => {
  await using services = newServices();
  const job = join(directory, 'job');
  const main = join(directory, 'main');
  const script = `[ -e ${job} ] || { sleep 600 & echo $! > ${job}; }; echo $$ > ${main}; echo x >> ${directory}/batch; exec sleep 601`;
  await services.ensure('batch', { ...shell(script), keepsProcesses: true });
  await vi.waitFor(() => expect(marks('batch')).toBe(1), patience);
  const pid = Number(readFileSync(job, 'utf8'));
  const isAlive = (): boolean => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  for (const run of [2, 3]) {
    process.kill(Number(readFileSync(main, 'utf8')), 'SIGKILL');
    await vi.waitFor(() => expect(marks('batch')).toBe(run), patience);
    expect(isAlive()).toBe(true);
  }
  await services.stop('batch');
  expect(isAlive()).toBe(false);
  expect((await processes.list()).filter((one) => one.startsWith('service-'))).toEqual([]);
});
