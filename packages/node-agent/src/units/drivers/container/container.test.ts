import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll } from 'vitest';
import { unitDriverSuite } from '../../../suite/unit-driver.ts';
import { buildUnitImage, deleteStorage, podmanEnvironment } from '../../../suite/unit-images.ts';
import { unitIsolationSuite } from '../../../suite/unit-isolation.ts';
import { openExecDriver } from '../exec/open.ts';
import { echoServer } from '../exec/testing.ts';
import { openContainerDriver } from './open.ts';
import { PodmanService } from './service.ts';

const image = 'localhost/unit:1';

await describeWith(['podman', 'containerd'], 'containers of Podman', ({ podman }) => {
  const directory = temporaryDirectory('container');
  const state = directory.join('state');
  const environment = podmanEnvironment(directory);
  let service: PodmanService;
  let exec: Awaited<ReturnType<typeof openExecDriver>>;

  beforeAll(async () => {
    await buildUnitImage(image, directory.join('image.tar'));
    await output(podman, ['load', '--input', directory.join('image.tar')], { environment });
    service = await PodmanService.start({ podman, directory: state, environment });
    exec = await openExecDriver({ directory: directory.join('exec') });
    writeFileSync(join(state, 'secret'), 'secret', { mode: 0o644 });
  }, 120_000);
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    deleteStorage(directory);
  });

  const tested = {
    renew: () =>
      openContainerDriver({ directory: state, sockets: [service.socketPath], exec, log: { files: 2, bytes: 65_536 }, processes: 200 }),
    base: { image },
    echoServer,
    state,
    user: 'root' as const,
  };
  unitDriverSuite(tested);
  unitIsolationSuite(tested);
});
