import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type ProcessDriver, ProcessesRemain } from '../processes/driver.ts';
import { Services } from '../services/services.ts';

const patience = { timeout: 15_000, interval: 20 };

/** The behaviour of services with every driver. `directory` is empty; `processes` is the driver to use in it. */
export function serviceSuite({ directory, processes }: { readonly directory: string; readonly processes: ProcessDriver }): void {
  const lines: string[] = [];
  const newServices = (): Services =>
    new Services({
      directory: join(directory, 'services'),
      processes,
      backoff: { base: 10, max: 20 },
      interval: 20,
      log: (line) => void lines.push(line),
    });
  const marks = (name: string): number => {
    const file = join(directory, name);
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
  };
  const shell = (script: string) => ({ command: ['/bin/sh', '-c', script] as const });
  const running = async (): Promise<string[]> => (await processes.list()).filter((id) => id.startsWith('service-'));

  test('a service that ends is started again, with a line in the log', async () => {
    await using services = newServices();
    await services.ensure('flaky', shell(`echo x >> ${directory}/flaky; sleep 0.1; exit 3`));
    await vi.waitFor(() => expect(marks('flaky')).toBeGreaterThan(2), patience);
    expect(lines.join('\n')).toContain('the service flaky ended (exit code 3), restarting it');
    await services.stop('flaky');
    const after = marks('flaky');
    expect(await services.is('flaky', undefined)).toBe(true);
    expect(await running()).toEqual([]);
    expect(marks('flaky')).toBe(after);
  });

  test('a service outlives the agent, and the next agent keeps it', async () => {
    const spec = shell(`echo x >> ${directory}/steady; exec sleep 600`);
    {
      await using services = newServices();
      await services.ensure('steady', spec);
      await vi.waitFor(() => expect(marks('steady')).toBe(1), patience);
    }
    await using services = newServices();
    await services.resume();
    expect(await services.is('steady', spec)).toBe(true);
    await services.ensure('steady', spec);
    expect(marks('steady')).toBe(1);
    const [id = ''] = await running();
    await processes.kill(id, 0);
    await vi.waitFor(() => expect(marks('steady')).toBe(2), patience);
    await services.ensure('steady', shell(`echo x >> ${directory}/changed; exec sleep 600`));
    await vi.waitFor(() => expect(marks('changed')).toBe(1), patience);
    expect(await services.is('steady', spec)).toBe(false);
    await services.stop('steady');
    expect(await running()).toEqual([]);
  });

  test('a service whose process cannot be started is tried again', async () => {
    let failures = 2;
    const failing: ProcessDriver = {
      name: processes.name,
      start: async (spec) => {
        if (failures-- > 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        return processes.start(spec);
      },
      find: (id) => processes.find(id),
      output: (id) => processes.output(id),
      kill: (id, grace) => processes.kill(id, grace),
      forget: (id) => processes.forget(id),
      list: () => processes.list(),
    };
    await using services = new Services({
      directory: join(directory, 'tried'),
      processes: failing,
      backoff: { base: 10, max: 20 },
      interval: 20,
      log: (line) => void lines.push(line),
    });
    const spec = shell('exec sleep 600');
    // A slow machine may take longer than it waits.
    await services.ensure('tried', spec).catch(() => {});
    await vi.waitFor(async () => expect(await services.is('tried', spec)).toBe(true), patience);
    expect(lines.filter((line) => line.startsWith('the service tried could not be started'))).toHaveLength(2);
    await services.stop('tried');
  });

  test('a service whose processes do not end is neither started beside them nor called stopped', async () => {
    let isStuck = true;
    const stuck: ProcessDriver = {
      name: processes.name,
      start: (spec) => processes.start(spec),
      find: (id) => processes.find(id),
      output: (id) => processes.output(id),
      kill: async (id, grace) => {
        if (isStuck) throw new ProcessesRemain('SIGKILL does not end 7 (cat) in uninterruptible sleep');
        return processes.kill(id, grace);
      },
      forget: (id) => processes.forget(id),
      list: () => processes.list(),
    };
    await using services = new Services({
      directory: join(directory, 'stuck'),
      processes: stuck,
      backoff: { base: 10, max: 20 },
      interval: 20,
      log: (line) => void lines.push(line),
    });
    const spec = shell(`echo x >> ${directory}/stuck-marks; while [ ! -e ${directory}/stuck-end ]; do sleep 0.02; done`);
    await services.ensure('stuck', spec);
    await vi.waitFor(() => expect(marks('stuck-marks')).toBe(1), patience);
    writeFileSync(join(directory, 'stuck-end'), '');
    const line = 'the service stuck is not restarted yet: SIGKILL does not end 7 (cat) in uninterruptible sleep';
    await vi.waitFor(() => expect(lines.filter((one) => one === line).length).toBeGreaterThan(1), patience);
    expect(marks('stuck-marks')).toBe(1);
    await expect(services.stop('stuck')).rejects.toThrow('SIGKILL does not end 7');
    expect(await services.is('stuck', undefined)).toBe(false);
    isStuck = false;
    rmSync(join(directory, 'stuck-end'));
    await services.ensure('stuck', spec);
    await vi.waitFor(() => expect(marks('stuck-marks')).toBe(2), patience);
    await services.stop('stuck');
    expect(await services.is('stuck', undefined)).toBe(true);
    expect(await running()).toEqual([]);
  });

  test('a service that is being stopped when the agent ends is stopped by the next agent, and not started again', async () => {
    const spec = shell(`echo x >> ${directory}/halted; exec sleep 600`);
    const killing = Promise.withResolvers<void>();
    // As if the agent were killed before the processes have ended.
    const interrupted: ProcessDriver = {
      name: processes.name,
      start: (one) => processes.start(one),
      find: (id) => processes.find(id),
      output: (id) => processes.output(id),
      kill: () => {
        killing.resolve();
        return new Promise(() => {});
      },
      forget: (id) => processes.forget(id),
      list: () => processes.list(),
    };
    const options = { directory: join(directory, 'halted-services'), backoff: { base: 10, max: 20 }, interval: 20, log: () => {} };
    const first = new Services({ ...options, processes: interrupted });
    await first.ensure('halted', spec);
    await vi.waitFor(() => expect(marks('halted')).toBe(1), patience);
    void first.stop('halted');
    await killing.promise;
    await using next = new Services({ ...options, processes });
    await next.resume();
    expect(await next.is('halted', undefined)).toBe(false);
    expect(await next.is('halted', spec)).toBe(false);
    await next.stop('halted');
    expect(await running()).toEqual([]);
    expect(marks('halted')).toBe(1);
    await using last = new Services({ ...options, processes });
    await last.resume();
    expect(await last.is('halted', undefined)).toBe(true);
  });

  test('processes of a service stay when it ends, if it is made for that, and end when it is stopped', async () => {
    await using services = newServices();
    const [job, main] = [join(directory, 'job'), join(directory, 'main')];
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
    expect(await running()).toEqual([]);
  });
}
