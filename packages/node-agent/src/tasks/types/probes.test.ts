import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { processEntry } from '../../processes/proc.ts';
import { Supervisor } from '../../processes/supervisor.ts';
import { TaskFailure } from '../failure.ts';
import type { TaskContext } from '../task-type.ts';
import { probeCommand } from './probe-command.ts';
import { probeTcp } from './probes.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-probes-'));
afterAll(() => rmSync(directory, { recursive: true }));
const processes = new Supervisor({ directory: join(directory, 'processes'), groups: undefined });
const patiently = { timeout: 20_000, interval: 20 };

let count = 0;
let abort: AbortController;
let printed: string;
let context: TaskContext;
beforeEach(() => {
  abort = new AbortController();
  printed = '';
  context = {
    id: `task-${count++}-1`,
    signal: abort.signal,
    processes,
    print: (text: string) => void (printed += text),
  } as unknown as TaskContext;
});
const cancel = (): void => abort.abort(new TaskFailure('Cancelled', 'cancelled'));

const path = (name: string): string => join(directory, name);
const catalog = { find: async (name: string) => (existsSync(path(name)) ? path(name) : undefined) };

function probe(name: string, text: string, timeout = '10m'): Promise<unknown> {
  writeFileSync(path(name), `#!/bin/sh\n${text}\n`);
  chmodSync(path(name), 0o755);
  return probeCommand(catalog).run({ script: name, timeout, interval: '20ms' } as never, context);
}

const pidsIn = (name: string): number[] =>
  existsSync(path(name)) ? readFileSync(path(name), 'utf8').split('\n').filter(Boolean).map(Number) : [];
const isAlive = async (pid: number): Promise<boolean> => (await processEntry(pid))?.isZombie === false;
const alive = async (name: string): Promise<boolean[]> => Promise.all(pidsIn(name).map(isAlive));

describe('probe.command', () => {
  test('waits until the script succeeds, and says once why it waits', async () => {
    const done = probe('waits', `echo x >> ${path('tries')}; [ -e ${path('there')} ] || { echo not there >&2; exit 3; }`);
    await vi.waitFor(() => expect(readFileSync(path('tries'), 'utf8').length).toBeGreaterThan(4), patiently);
    writeFileSync(path('there'), '');
    expect(await done).toEqual({});
    expect(printed).toBe('attempt 1: exit code 3: not there\n');
    expect(await processes.list()).toEqual([]);
  });

  test('ends everything that a run has started when its time is over', async () => {
    const pids = path('late-pids');
    const done = probe('late', `echo $$ >> ${pids}; setsid sleep 600 & echo $! >> ${pids}; sleep 600`, '500ms');
    await vi.waitFor(() => {
      expect(pidsIn('late-pids').length).toBeGreaterThan(3);
      expect(printed).toContain('attempt 1: not done within 500ms\n');
    }, patiently);
    cancel();
    await expect(done).rejects.toThrow('cancelled');
    expect(new Set(await alive('late-pids'))).toEqual(new Set([false]));
    expect(await processes.list()).toEqual([]);
  });

  test('leaves nothing in the background when it has succeeded', async () => {
    await probe('leaves', `sleep 600 & echo $! > ${path('left-pids')}`);
    expect(await alive('left-pids')).toEqual([false]);
  });

  test('ends the run of an agent that was killed before it begins a new one', async () => {
    const started = { id: `probe-${context.id}-3`, outputLimit: 1000 };
    await processes.start({ ...started, command: ['/bin/sh', '-c', `sleep 600 & echo $! > ${path('old-pids')}; sleep 600`] });
    await vi.waitFor(() => expect(pidsIn('old-pids')).toHaveLength(1), patiently);
    expect(await probe('again', `readlink /proc/$(cat ${path('old-pids')})/exe && exit 1; exit 0`)).toEqual({});
    expect(printed).toBe('');
    expect(await alive('old-pids')).toEqual([false]);
    expect(await processes.list()).toEqual([]);
  });

  test('refuses scripts outside of the catalog', async () => {
    const run = probeCommand(catalog).run({ script: 'none', timeout: '1s', interval: '1s' } as never, context);
    await expect(run).rejects.toMatchObject({ code: 'UnknownScript' });
  });
});

describe('probe.tcp', () => {
  /** An address of this machine on which nobody else listens. */
  const host = `127.83.${process.pid & 255}.7`;
  const probePort = (port: number): Promise<unknown> => probeTcp.run({ host, port, timeout: '10s', interval: '20ms' } as never, context);
  const listen = async (port: number) => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
    return server;
  };

  test('waits until somebody listens, and says once why it waits', async () => {
    const first = await listen(0);
    const { port } = first.address() as AddressInfo;
    await new Promise((resolve) => first.close(resolve));
    const done = probePort(port);
    await vi.waitFor(() => expect(printed).toBe(`attempt 1: connect ECONNREFUSED ${host}:${port}\n`), patiently);
    const server = await listen(port);
    try {
      expect(await done).toEqual({});
    } finally {
      server.close();
    }
  });

  test('ends when it is cancelled', async () => {
    const server = await listen(0);
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const done = probePort(port);
    await vi.waitFor(() => expect(printed).not.toBe(''), patiently);
    cancel();
    await expect(done).rejects.toThrow('cancelled');
  });
});
