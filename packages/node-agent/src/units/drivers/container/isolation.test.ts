import { describeWith } from '@capstan/testbed/vitest';
import { podmanMachine } from '../../../suite/podman-machine.ts';
import { unitIsolationSuite } from '../../../suite/unit-isolation.ts';

await describeWith(['podman', 'containerd'], 'the isolation of containers of Podman', ({ podman }) => {
  unitIsolationSuite(podmanMachine(podman));
});
