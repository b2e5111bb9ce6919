import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestServer } from '@capstan/apiserver/testing';
import { expect, test, vi } from 'vitest';
import { examine } from './doctor.ts';
import { cgroupCheck, containerCheck, nodeCheck, portCheck, programPath, rootChecks, storageCheck } from './machine.ts';
import { clockCheck, serverChecks } from './server.ts';

test('one line for each check, and an exit code for scripts', async () => {
  await using server = await startTestServer();
  const lines: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  const code = await examine({ kubeconfig: server.kubeconfigPath });
  spy.mockRestore();
  expect(lines.every((line) => /^(ok|missing|wrong) {3,}\S/.test(line))).toBe(true);
  expect(lines.join('')).toMatch(/^ok +server +version v1\.\d+\S*, answers in \d+ ms$/m);
  expect(lines.join('')).toMatch(/^ok +clock +as that of the server$/m);
  expect(code).toBe(lines.some((line) => line.startsWith('wrong')) ? 1 : 0);
});

test('a server that does not answer is wrong, a missing kubeconfig is not', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-doctor-'));
  const kubeconfig = join(directory, 'config');
  expect(await serverChecks({ kubeconfig })).toMatchObject([
    { name: 'kubeconfig', state: 'missing', advice: expect.stringContaining('capstan login') },
  ]);
  writeFileSync(
    kubeconfig,
    '{clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}',
  );
  expect(await serverChecks({ kubeconfig })).toMatchObject([
    { state: 'ok' },
    { name: 'server', state: 'wrong', advice: expect.stringContaining('capstan up') },
  ]);
  rmSync(directory, { recursive: true });
});

test.each([
  [0, 'ok'],
  [29_000, 'ok'],
  [-120_000, 'wrong'],
])('a clock that differs by %i ms is %s', (skew, state) => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(clockCheck(now + skew, now)[0]).toMatchObject({ state });
});

test('cgroups, programs, ports and versions of Node', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-doctor-'));
  expect(cgroupCheck(join(directory, 'none')).state).toBe('missing');
  expect(cgroupCheck(directory)).toMatchObject({ state: 'missing', found: 'version 1 without cpu, memory, pids' });
  for (const controller of ['cpu,cpuacct', 'memory', 'pids']) mkdirSync(join(directory, controller));
  expect(cgroupCheck(directory)).toMatchObject({ state: 'ok', found: 'version 1' });
  writeFileSync(join(directory, 'cgroup.controllers'), 'cpuset cpu io memory\n');
  expect(cgroupCheck(directory)).toMatchObject({ state: 'missing', found: 'version 2 without pids' });
  writeFileSync(join(directory, 'cgroup.controllers'), 'cpu memory pids\n');
  expect(cgroupCheck(directory)).toMatchObject({ state: 'ok' });
  mkdirSync(join(directory, 'bin'));
  writeFileSync(join(directory, 'bin/tool'), '');
  expect(programPath('tool', [join(directory, 'bin')])).toBeUndefined();
  chmodSync(join(directory, 'bin/tool'), 0o755);
  expect(programPath('tool', [join(directory, 'bin')])).toBe(join(directory, 'bin/tool'));
  expect([nodeCheck('24.1.0').state, nodeCheck('20.9.0').state]).toEqual(['ok', 'wrong']);
  await using used = createServer();
  await once(used.listen(0, '127.0.0.1'), 'listening');
  expect(await portCheck((used.address() as AddressInfo).port)).toMatchObject({ state: 'missing', found: expect.stringContaining('used') });
  rmSync(directory, { recursive: true });
});

test.each([
  ['ProjectQuotas', undefined, 'ok', 'sizes are limited by project quotas'],
  ['LoopFiles', 'the file system at / (ext4) is mounted without prjquota', 'ok', 'sizes are limited by loop files: the file system at /'],
  ['None', 'the agent does not run as root', 'missing', 'sizes are not limited: the agent does not run as root'],
] as const)('says how storages are limited: %s', (kind, why, state, found) => {
  expect(storageCheck({ kind, ...(why && { why }) })).toMatchObject({ state, found: expect.stringContaining(found) });
});

test('does not ask an ordinary user for programs that only an agent of root would use', async () => {
  expect(await rootChecks(false)).toMatchObject([
    { name: 'network', state: 'ok' },
    { name: 'images', state: 'missing', advice: expect.stringContaining('as root') },
  ]);
  expect((await rootChecks(true)).map(({ name }) => name)).toEqual(['ip', 'firewall', 'images']);
});

test('names the container engine that the agent would use, and one that it would not', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-doctor-'));
  const engine = async (name: string, headers: Record<string, string>, info = {}): Promise<string> => {
    const server = createHttpServer(({ url }, response) =>
      response.writeHead(200, headers).end(url?.endsWith('/info') ? JSON.stringify(info) : 'OK'),
    );
    await once(server.listen(join(directory, name)), 'listening');
    server.unref();
    return join(directory, name);
  };
  const safe = { SecurityOptions: ['name=seccomp,profile=default'] };
  const docker = await engine('docker.sock', { 'api-version': '1.47' }, { ...safe, LiveRestoreEnabled: true });
  const mortal = await engine('mortal.sock', { 'api-version': '1.41' }, safe);
  const rootless = await engine('rootless.sock', { 'api-version': '1.47' }, { SecurityOptions: ['name=seccomp', 'name=rootless'] });
  const podman = await engine('podman.sock', { 'api-version': '1.41', 'libpod-api-version': '4.3.1' });
  const old = await engine('old.sock', { 'api-version': '1.40', 'libpod-api-version': '3.0.1' });
  const ancient = await engine('ancient.sock', { 'api-version': '1.40' });
  const check = (sockets: readonly string[], more: object = {}): ReturnType<typeof containerCheck> =>
    containerCheck({ sockets, otherSockets: [], podman: '', ...more });
  expect(await check([podman], { otherSockets: [docker] })).toMatchObject({ state: 'ok', found: `Podman at ${podman} (API 4.3.1)` });
  expect(await check([], { otherSockets: [docker] })).toMatchObject({ state: 'ok', found: `Docker at ${docker} (API 1.47)` });
  expect(await check([mortal])).toMatchObject({ state: 'ok', found: expect.stringContaining('live-restore') });
  expect(await check([podman, docker], { engine: 'docker' })).toMatchObject({ found: `Docker at ${docker} (API 1.47)` });
  expect(await check([], { otherSockets: [docker], podman: '/usr/bin/podman' })).toMatchObject({
    state: 'ok',
    found: '/usr/bin/podman, whose API the agent starts',
  });
  for (const [socket, words] of [
    [old, 'it is too old'],
    [ancient, 'it is too old'],
    [rootless, 'it runs without root'],
  ] as const)
    expect(await check([socket])).toMatchObject({ state: 'missing', found: expect.stringContaining(`is not used: ${words}`) });
  expect(await check([join(directory, 'none.sock')])).toMatchObject({ state: 'missing', advice: expect.stringContaining('podman') });
  rmSync(directory, { recursive: true });
});
