import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildUnitImage,
  DockerDaemon,
  deleteStorage,
  freePort,
  startRegistry,
  type TestRegistry,
  temporaryDirectory,
} from '@capstan/testbed';
import { afterAll, beforeAll } from 'vitest';
import { openContainerDriver } from '../units/drivers/container/open.ts';
import { openExecDriver } from '../units/drivers/exec/open.ts';
import { echoServer } from '../units/drivers/exec/testing.ts';
import type { ImagesUnderTest } from './unit-images.ts';

const image = 'localhost/unit:1';

/** A daemon of Docker for the tests of a file, with an image and a registry, and the driver that uses it. */
export function dockerMachine(): ImagesUnderTest & { readonly daemon: () => DockerDaemon } {
  const directory = temporaryDirectory('docker');
  const state = directory.join('state');
  const options = { directory: state, log: { files: 2, bytes: 65_536 }, processes: 200, disk: 128 << 20 };
  let daemon: DockerDaemon;
  let registry: TestRegistry;
  let closedPort: number;
  let exec: Awaited<ReturnType<typeof openExecDriver>>;

  beforeAll(async () => {
    await buildUnitImage(image, directory.join('image.tar'));
    await buildUnitImage('other', directory.join('other.tar'), 'in the registry');
    registry = await startRegistry(directory.join('other.tar'));
    closedPort = await freePort();
    daemon = await DockerDaemon.start(directory);
    await daemon.call('POST', '/images/load', readFileSync(directory.join('image.tar')));
    exec = await openExecDriver({ directory: directory.join('exec') });
    await openContainerDriver({ ...options, sockets: [daemon.socketPath], programs: [], exec });
    writeFileSync(join(state, 'secret'), 'secret', { mode: 0o644 });
  }, 120_000);
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    deleteStorage(directory);
  });

  return {
    renew: (more = {}) => openContainerDriver({ ...options, ...more, sockets: [daemon.socketPath], programs: [], exec }),
    base: { image },
    echoServer,
    state,
    user: 'root',
    disk: 128 << 20,
    directory,
    socket: () => daemon.socketPath,
    options,
    image,
    registry: () => registry,
    closedPort: () => closedPort,
    containers: () => daemon.containers(),
    daemon: () => daemon,
  };
}
