import { readFileSync } from 'node:fs';
import {
  buildCapstan,
  buildUnitImage,
  Child,
  capstanProgram,
  DockerDaemon,
  deleteStorage,
  freePort,
  run,
  temporaryDirectory,
} from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';

await buildCapstan();

const image = 'localhost/unit:1';

/** The path of `docs/install.md` for a machine with Docker. */
await describeWith(['dockerd', 'containerd'], 'a machine with Docker', () => {
  const directory = temporaryDirectory('docker-up');
  const data = directory.join('data');
  const environment = (): Record<string, string> => ({
    HOME: directory.path,
    KUBECONFIG: `${data}/admin.kubeconfig`,
    DOCKER_HOST: `unix://${daemon.socketPath}`,
  });
  const capstan = (...args: string[]) => run(process.execPath, [capstanProgram, ...args], { environment: environment(), timeout: 60_000 });
  let daemon: DockerDaemon;
  let up: Child;

  beforeAll(async () => {
    await buildUnitImage(image, directory.join('image.tar'));
    daemon = await DockerDaemon.start(directory);
    await daemon.call('POST', '/images/load', readFileSync(directory.join('image.tar')));
    const command = [process.execPath, capstanProgram, 'up', '--data-dir', data, '--port', String(await freePort())];
    up = new Child('capstan up', command, { environment: environment() });
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    expect(await capstan('ws', 'use', '~')).toMatchObject({ code: 0 });
    await up.waitUntil('offers units', async () => (await capstan('ps')).code === 0);
  });
  afterAll(async () => {
    await up.stop();
    await daemon[Symbol.asyncDispose]();
    deleteStorage(directory);
  });

  test('is named by the doctor, and runs units with an image', async () => {
    expect((await capstan('doctor')).stdout).toMatch(/^ok +images +Docker at \S+ \(API 1\.\d+\)$/m);
    const { code, stdout, stderr } = await capstan(
      ...['run', '--image', image, '--cpu', '1', '--memory', '256Mi', '--network', 'none', '--no-upload', '--rm', '--'],
      ...['/bin/sh', '-c', 'cat /etc/note; ls /bin/busybox; exit 3'],
    );
    expect([code, stdout], stderr).toEqual([3, '/bin/busybox\n']);
    expect(await daemon.containers()).toBe('');
  });
});
