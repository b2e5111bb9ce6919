import { existsSync } from 'node:fs';
import { buildUnitImage, Child, deleteStorage, output, podmanEnvironment, requireTool, temporaryDirectory } from '@capstan/testbed';
import type { PrintingCommand } from './first-output.ts';

/** Podman with storage of its own, an image, and its API for agents. */
export interface PodmanMachine extends AsyncDisposable {
  readonly image: string;
  readonly socket: string;
  /** `podman run` of the image, without a network and removed at its end. */
  run(program: readonly string[]): PrintingCommand;
}

export async function startPodman(): Promise<PodmanMachine> {
  const podman = await requireTool('podman');
  const directory = temporaryDirectory('load-podman');
  const image = 'localhost/unit:1';
  const archive = directory.join('image.tar');
  const socket = directory.join('podman.sock');
  const environment = podmanEnvironment(directory);
  let service: Child | undefined;
  const stop = async (): Promise<void> => {
    await service?.stop();
    deleteStorage(directory);
  };
  try {
    await buildUnitImage(image, archive);
    await output(podman, ['load', '--input', archive], { environment });
    service = new Child('podman', [podman, 'system', 'service', '--time=0', `unix://${socket}`], { environment });
    // Agents look for it when they start.
    await service.waitUntil('its socket is there', () => existsSync(socket));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    image,
    socket,
    run: (program) => ({ words: [podman, 'run', '--rm', '--network', 'none', image, ...program], environment }),
    [Symbol.asyncDispose]: stop,
  };
}
