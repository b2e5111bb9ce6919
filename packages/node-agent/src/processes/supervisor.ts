import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ProcessGroup } from './cgroup.ts';
import type { ProcessSpec } from './driver.ts';
import { marker } from './proc.ts';
import { shimArguments } from './shim.ts';
import { ShimDriver, type Starting } from './shim-driver.ts';

export interface SupervisorOptions {
  /** Holds one folder for each process. */
  readonly directory: string;
  /** The folder of cgroups, from `processGroups`; undefined without them. */
  readonly groups: string | undefined;
}

/** Runs processes without the help of an init system: each in a session and, where possible, a cgroup of its own. */
export class Supervisor extends ShimDriver {
  readonly name = 'supervisor';
  readonly #groups: string | undefined;

  constructor({ directory, groups }: SupervisorOptions) {
    super(directory);
    this.#groups = groups;
  }

  protected async launch(spec: ProcessSpec, folder: string): Promise<Starting> {
    const group = await this.groupOf(spec.id);
    await group?.create();
    const child = spawn('/bin/sh', shimArguments(spec, { folder, entrance: group?.entrance ?? '' }), {
      detached: true,
      stdio: 'ignore',
      cwd: '/',
      env: { PATH: process.env['PATH'], ...spec.environment, [marker]: spec.id },
    });
    let failure: string | undefined;
    child.once('error', ({ message }) => (failure = message));
    child.once('exit', (code) => (failure ??= `the shim ended with ${code}`));
    child.unref();
    return { failure: () => failure };
  }

  protected async groupOf(id: string): Promise<ProcessGroup | undefined> {
    return this.#groups === undefined ? undefined : new ProcessGroup(join(this.#groups, id));
  }
}
