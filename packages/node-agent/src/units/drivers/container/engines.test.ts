import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { BoxSpec } from './dialect.ts';
import { docker, dockerFeatures, dockerVersion } from './docker/docker.ts';
import { Engine } from './engine.ts';
import { findEngine } from './engines.ts';
import { podmanStorage } from './podman/podman.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-engines-'));
afterAll(() => rmSync(directory, { recursive: true }));

const received: { readonly url: string; readonly body: string }[] = [];

/** An engine that answers everything with the same, and keeps what it is sent. */
async function pretend(name: string, headers: Record<string, string>, info = {}): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      received.push({ url: request.url ?? '', body });
      response.writeHead(200, headers).end(request.url === '/_ping' ? 'OK' : JSON.stringify(info));
    });
  });
  await once(server.listen(join(directory, name)), 'listening');
  server.unref();
  return join(directory, name);
}

test('the first socket with a usable engine counts, and a setting allows only one', async () => {
  const old = await pretend('old', { 'api-version': '1.40' });
  const newDocker = await pretend('docker', { 'api-version': '1.51' });
  const podman = await pretend('podman', { 'api-version': '1.41', 'libpod-api-version': '4.3.1' });
  const places = { directory, sockets: [join(directory, 'none'), old, newDocker, podman], programs: [] };
  expect(await findEngine(places)).toMatchObject({ engine: 'Docker', version: '1.51', socket: newDocker });
  expect(await findEngine({ ...places, engine: 'podman' })).toMatchObject({ engine: 'Podman', socket: podman });
  expect(await findEngine({ ...places, sockets: [podman], engine: 'docker' })).toBeUndefined();
});

test.each([
  ['1.40', undefined],
  ['1.41', 41],
  ['1.47', 47],
  ['1.60', 47],
  ['2.0', undefined],
  ['nonsense', undefined],
])('of the API %s, the minor version %s is used', (announced, version) => {
  expect(dockerVersion(announced)).toBe(version);
});

test('an engine of Docker is asked how it gives GPUs, and refused without root or a filter', async () => {
  const featuresOf = async (name: string, info: object): ReturnType<typeof dockerFeatures> =>
    dockerFeatures(new Engine(await pretend(name, {}, info)), '1.45');
  const safe = { SecurityOptions: ['name=seccomp,profile=builtin'] };
  expect(await featuresOf('cdi', { ...safe, CDISpecDirs: ['/etc/cdi'], LiveRestoreEnabled: true })).toMatchObject({
    version: 45,
    gpus: 'cdi',
    outlives: true,
  });
  expect(await featuresOf('runtime', { ...safe, Runtimes: { runc: {}, nvidia: {} } })).toMatchObject({ gpus: 'nvidia', outlives: false });
  expect(await featuresOf('plain', { ...safe, CDISpecDirs: null })).toMatchObject({ gpus: undefined });
  await expect(featuresOf('rootless', { SecurityOptions: ['name=seccomp', 'name=rootless'] })).rejects.toThrow('without root');
  await expect(featuresOf('unfiltered', { SecurityOptions: null })).rejects.toThrow('seccomp');
});

test('the layers of an engine can be limited if they are folders', async () => {
  const info = { SecurityOptions: ['name=seccomp'], Driver: 'overlay2', DockerRootDir: '/data/docker' };
  const storageOf = async (name: string, more: object) => (await dockerFeatures(new Engine(await pretend(name, {}, more)), '1.45')).storage;
  expect(await storageOf('overlay', info)).toEqual({ folder: '/data/docker', whyNoLayers: undefined });
  expect(await storageOf('other', { ...info, Driver: 'btrfs' })).toMatchObject({ whyNoLayers: expect.stringContaining('driver btrfs') });
  const store = { graphDriverName: 'overlay', graphRoot: '/data/podman' };
  expect(podmanStorage({ store })).toEqual({ folder: '/data/podman', whyNoLayers: undefined });
  expect(podmanStorage({ store: { ...store, graphDriverName: 'vfs' } }).whyNoLayers).toContain('driver vfs');
});

const spec: BoxSpec = {
  ...{ name: 'capstan-x-0', labels: {}, image: 'x:1', command: ['run'], args: ['it'], environment: { A: 'b' }, hostname: 'x', tty: false },
  mounts: [{ source: '/data', path: '/in', readOnly: true }],
  devices: ['/dev/null', 'nvidia.com/gpu=GPU-1', 'nvidia.com/gpu=GPU-2'],
  ...{ cpu: 1500, memory: 1 << 30, processes: 100, sharedMemory: 1 << 20, limits: [{ name: 'core', value: 0 }] },
  namespaces: { network: { container: 'anchor' }, processes: { container: 'anchor' } },
  log: { path: '/log', files: 2, bytes: 1000 },
};

test.each([
  ['cdi', { Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=GPU-1', 'nvidia.com/gpu=GPU-2'] }],
  ['nvidia', { Driver: 'nvidia', DeviceIDs: ['GPU-1', 'GPU-2'], Capabilities: [['gpu', 'compute', 'utility']] }],
] as const)('a container of Docker gets its limits, no rights, and its GPUs by %s', async (gpus, request) => {
  const engine = new Engine(await pretend(`create-${gpus}`, {}));
  await docker({ version: 45, gpus }).create(engine, spec);
  const { url, body } = received.at(-1)!;
  expect(url).toBe('/v1.45/containers/create?name=capstan-x-0');
  const { HostConfig, ...config } = JSON.parse(body) as { HostConfig: object };
  expect(config).toEqual({
    ...{ Image: 'x:1', Labels: {}, Entrypoint: ['run'], Cmd: ['it'], Env: ['A=b'], Tty: false, OpenStdin: true, StdinOnce: false },
  });
  expect(HostConfig).toMatchObject({
    ...{ NetworkMode: 'container:anchor', PidMode: 'container:anchor', Privileged: false, CapDrop: ['ALL'] },
    SecurityOpt: ['no-new-privileges:true'],
    ...{ Memory: 1 << 30, MemorySwap: 1 << 30, NanoCpus: 1_500_000_000, PidsLimit: 100 },
    Devices: [{ PathOnHost: '/dev/null', PathInContainer: '/dev/null', CgroupPermissions: 'rw' }],
    DeviceRequests: [request],
    Mounts: [{ Source: '/data', Target: '/in', ReadOnly: true }],
  });
});
