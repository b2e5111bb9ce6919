import {
  buildCapstan,
  buildUnitImage,
  Child,
  capstanProgram,
  deleteStorage,
  freePort,
  output,
  podmanEnvironment,
  run,
  temporaryDirectory,
} from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';

await buildCapstan();

const image = 'localhost/unit:1';

await describeWith(['podman', 'containerd'], 'units with an image', ({ podman }) => {
  const directory = temporaryDirectory('containers');
  const data = directory.join('data');
  const environment = { HOME: directory.path, KUBECONFIG: `${data}/admin.kubeconfig` };
  const socket = directory.join('podman.sock');
  const capstan = (...args: string[]) => run(process.execPath, [capstanProgram, ...args], { environment, timeout: 60_000 });
  const storage = podmanEnvironment(directory);
  let service: Child;
  let up: Child;

  beforeAll(async () => {
    await buildUnitImage(image, directory.join('image.tar'));
    await output(podman, ['load', '--input', directory.join('image.tar')], { environment: storage });
    service = new Child('podman', [podman, 'system', 'service', '--time=0', `unix://${socket}`], { environment: storage });
    const command = [process.execPath, capstanProgram, 'up', '--data-dir', data, '--port', String(await freePort())];
    up = new Child('capstan up', command, { environment: { CONTAINER_HOST: `unix://${socket}` } });
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    expect(await capstan('ws', 'use', '~')).toMatchObject({ code: 0 });
    await up.waitUntil('offers units', async () => (await capstan('ps')).code === 0);
  }, 180_000);
  afterAll(async () => {
    await up.stop();
    await service.stop();
    deleteStorage(directory);
  });

  test('run shows their output and exit code', async () => {
    const { code, stdout, stderr } = await capstan(
      ...['run', '--image', image, '--cpu', '1', '--memory', '256Mi', '--network', 'none', '--no-upload', '--rm', '--'],
      ...['/bin/sh', '-c', 'cat /etc/note; ls /bin/busybox; exit 3'],
    );
    expect([code, stdout], stderr).toEqual([3, '/bin/busybox\n']);
  });

  test('a volume begins with the files of an image', async () => {
    expect(await capstan('volume', 'create', 'files', '--size', '64Mi', '--image', image)).toMatchObject({ code: 0 });
    const { stdout, stderr } = await capstan(
      ...['run', '--cpu', '1', '--memory', '256Mi', '--network', 'none', '--no-upload', '--rm', '-v', 'files:/files:ro', '--'],
      ...['ls', '/files/bin/busybox'],
    );
    expect(stdout, stderr).toBe('/files/bin/busybox\n');
  });

  test('shell runs a command in the container, and stop ends it', async () => {
    const size = ['--cpu', '1', '--memory', '256Mi', '--network', 'none', '--no-upload'];
    const started = await capstan(
      'run',
      '--image',
      image,
      ...size,
      '--detach',
      '--name',
      'web',
      '--',
      '/bin/sh',
      '-c',
      'echo up; sleep 600',
    );
    expect(started, started.stderr).toMatchObject({ code: 0 });
    await expect.poll(async () => (await capstan('logs', 'web')).stdout, { timeout: 30_000 }).toBe('up\n');
    const inside = await capstan('shell', 'web', '--', '/bin/sh', '-c', 'cat /proc/self/cgroup; ls /bin/busybox; exit 4');
    expect([inside.code, inside.stdout]).toEqual([4, expect.stringContaining('/bin/busybox')]);
    expect((await output(podman, ['ps', '--format', '{{.Names}}'], { environment: storage })).trim()).toMatch(/^capstan-.*-0$/);
    expect(await capstan('stop', 'web')).toMatchObject({ code: 0 });
    await expect.poll(async () => output(podman, ['ps', '--format', '{{.Names}}'], { environment: storage }), { timeout: 30_000 }).toBe('');
  });
});
