import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  buildUnitImage,
  deleteStorage,
  freePort,
  output,
  podmanEnvironment,
  startRegistry,
  type TestRegistry,
  temporaryDirectory,
} from '@capstan/testbed';
import { afterAll, beforeAll } from 'vitest';
import { identify } from '../units/drivers/container/identify.ts';
import { openContainerDriver } from '../units/drivers/container/open.ts';
import { PodmanService } from '../units/drivers/container/podman/service.ts';
import { openExecDriver } from '../units/drivers/exec/open.ts';
import { echoServer } from '../units/drivers/exec/testing.ts';
import type { ImagesUnderTest } from './unit-images.ts';

const image = 'localhost/unit:1';

export interface PodmanMachine extends ImagesUnderTest {
  readonly service: () => PodmanService;
  readonly exec: () => Awaited<ReturnType<typeof openExecDriver>>;
  /** For programs that use this Podman. */
  readonly environment: () => Record<string, string>;
}

/** A Podman of its own with a registry, for the tests of the file that calls this. */
export function podmanMachine(podman: string): PodmanMachine {
  const directory = temporaryDirectory('container');
  const state = directory.join('state');
  let environment: Record<string, string>;
  let registry: TestRegistry;
  let closedPort: number;
  let service: PodmanService;
  let exec: Awaited<ReturnType<typeof openExecDriver>>;

  beforeAll(async () => {
    await buildUnitImage(image, directory.join('image.tar'));
    await buildUnitImage('other', directory.join('other.tar'), 'in the registry');
    registry = await startRegistry(directory.join('other.tar'));
    closedPort = await freePort();
    environment = podmanEnvironment(directory, [registry.host, `127.0.0.1:${closedPort}`]);
    await output(podman, ['load', '--input', directory.join('image.tar')], { environment });
    service = await PodmanService.start({ podman, directory: state, environment });
    exec = await openExecDriver({ directory: directory.join('exec') });
    writeFileSync(join(state, 'secret'), 'secret', { mode: 0o644 });
  }, 120_000);
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    deleteStorage(directory);
  });

  const options = { directory: state, log: { files: 2, bytes: 65_536 }, processes: 200, disk: 128 << 20 };
  return {
    renew: async (more = {}) => {
      // One test ends the service, which is then started again.
      while ((await identify(service.socketPath)) === undefined) await sleep(20);
      return openContainerDriver({ ...options, ...more, sockets: [service.socketPath], exec });
    },
    base: { image },
    echoServer,
    state,
    user: 'root',
    disk: 128 << 20,
    directory,
    socket: () => service.socketPath,
    options,
    image,
    registry: () => registry,
    closedPort: () => closedPort,
    containers: () => output(podman, ['ps', '--all', '--format', '{{.Names}}'], { environment }),
    service: () => service,
    exec: () => exec,
    environment: () => environment,
  };
}
