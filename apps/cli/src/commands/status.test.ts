import { statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { exitCodes } from '../failure.ts';
import { holdDirectory } from '../holder.ts';
import type { ProcessState } from '../supervise/states.ts';
import { StatusFile } from '../supervise/status-file.ts';
import { Scripts } from '../supervise/testing/scripts.ts';
import { status } from './status.ts';

let scripts: Scripts;
let output: string;
beforeEach(() => {
  scripts = new Scripts();
  output = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  scripts[Symbol.dispose]();
});

const show = (flags: object = {}) => status({ dataDir: scripts.directory, ...flags });

test('says clearly that nothing runs', async () => {
  await expect(show()).rejects.toMatchObject({
    reason: 'notRunning',
    message: `no "capstan up" runs on ${scripts.directory}. Start it with "capstan up --data-dir ${scripts.directory}", or name the directory of a running one with --data-dir.`,
  });
});

test('does not believe the file of a "capstan up" that was killed', async () => {
  holdDirectory(scripts.directory)[Symbol.dispose]();
  new StatusFile(scripts.directory, () => {}).update([stopped]);
  await expect(show()).rejects.toMatchObject({ reason: 'notRunning' });
});

test('finds the data directory by the kubeconfig in it', async () => {
  vi.stubEnv('KUBECONFIG', join(scripts.directory, 'admin.kubeconfig'));
  await expect(status({})).rejects.toMatchObject({ reason: 'notRunning', message: expect.stringContaining('capstan-data') });
  using _held = holdDirectory(scripts.directory);
  using file = new StatusFile(scripts.directory, () => {});
  file.update([stopped]);
  expect(await status({})).toBe(0);
  expect(output).toContain(scripts.directory);
});

const stopped: ProcessState = { name: 'extra', optional: true, current: { phase: 'stopped' }, restarts: 0 };

test('shows health, restarts, memory, uptime, ports and the last error of each process', async () => {
  let healthy = true;
  const server = createServer((_, response) => response.writeHead(healthy ? 200 : 503).end(healthy ? 'ok' : 'still filling\nmore'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  using _held = holdDirectory(scripts.directory);
  using file = new StatusFile(scripts.directory, () => {});
  const now = new Date().toISOString();
  file.update([
    {
      name: 'server',
      optional: false,
      current: {
        phase: 'ready',
        pid: process.pid,
        startedAt: now,
        ports: [{ name: 'http', host: '127.0.0.1', port }],
        health: { url: `http://127.0.0.1:${port}/readyz` },
      },
      restarts: 2,
      lastError: { time: now, message: 'exit code 1: no luck' },
    },
    { name: 'extra', optional: true, current: { phase: 'waiting', waitsFor: ['other'] }, restarts: 0 },
  ]);
  expect(statSync(join(scripts.directory, 'up.status')).mode & 0o777).toBe(0o600);
  expect(await show()).toBe(0);
  const lines = output.split('\n');
  expect(lines[0]).toMatch(new RegExp(`^capstan up \\(process ${process.pid}\\) has run on ${scripts.directory} for \\d+s\\.$`));
  expect(lines[2]).toMatch(/^NAME +STATE +HEALTH +RESTARTS +PID +MEMORY +UPTIME +PORTS$/);
  expect(lines[3]).toMatch(new RegExp(`^server +ready +ok +2 +${process.pid} +\\d+ MiB +\\d+s +http 127\\.0\\.0\\.1:${port}$`));
  expect(lines[4]).toMatch(/^extra \(optional\) +waiting for other +0$/);
  expect(lines[6]).toMatch(/^server last failed \d+s ago: exit code 1: no luck$/);

  healthy = false;
  output = '';
  expect(await show({ output: 'json' })).toBe(exitCodes.unhealthy);
  const { processes, up } = JSON.parse(output) as { processes: object[]; up: object };
  expect(up).toMatchObject({ pid: process.pid });
  expect(processes[0]).toMatchObject({
    name: 'server',
    phase: 'ready',
    health: 'still filling',
    memoryBytes: expect.any(Number),
    lastError: { message: 'exit code 1: no luck' },
  });

  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  output = '';
  expect(await show({ output: 'json' })).toBe(exitCodes.unhealthy);
  expect(output).toContain('ECONNREFUSED');
});
