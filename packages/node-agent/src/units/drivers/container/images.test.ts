import { describeWith } from '@capstan/testbed/vitest';
import { podmanMachine } from '../../../suite/podman-machine.ts';
import { unitImagesSuite } from '../../../suite/unit-images.ts';

await describeWith(['podman', 'containerd'], 'images of Podman', ({ podman }) => {
  unitImagesSuite(podmanMachine(podman));
});
