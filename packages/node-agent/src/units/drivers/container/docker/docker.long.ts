import { describeWith } from '@capstan/testbed/vitest';
import { dockerMachine } from '../../../../suite/docker-machine.ts';
import { unitDriverSuite } from '../../../../suite/unit-driver.ts';
import { unitImagesSuite } from '../../../../suite/unit-images.ts';
import { unitIsolationSuite } from '../../../../suite/unit-isolation.ts';

/** Everything that a driver must do and must prevent, with the daemon of Docker. `docker.test.ts` has a part of it. */
await describeWith(['dockerd', 'containerd'], 'containers of Docker', () => {
  const tested = dockerMachine();
  unitDriverSuite(tested);
  unitIsolationSuite(tested);
  unitImagesSuite(tested);
});
