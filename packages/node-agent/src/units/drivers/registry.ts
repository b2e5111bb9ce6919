import type { NodeUnitDriver, NodeUnitSpec } from '@capstan/api';
import { type UnitDriver, UnitProblem } from './driver.ts';

export interface RegistryOptions {
  readonly drivers: readonly UnitDriver[];
  /** Whether units may run where nothing separates them from each other and from the node. */
  readonly allowUnisolated: boolean;
}

/** The drivers of this machine. Images need the driver `container`, everything else runs with `exec`. */
export class DriverRegistry {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get all(): readonly UnitDriver[] {
    return this.#options.drivers;
  }

  nameFor({ image }: Pick<NodeUnitSpec, 'image'>): UnitDriver['name'] {
    return image === undefined ? 'exec' : 'container';
  }

  /** The driver that has run, or would run, a program; undefined if this agent does not have it. */
  find(spec: Pick<NodeUnitSpec, 'image'>): UnitDriver | undefined {
    const name = this.nameFor(spec);
    return this.#options.drivers.find((driver) => driver.name === name);
  }

  /** The driver for a new program. Throws a UnitProblem if there is none that may be used. */
  forStart(spec: Pick<NodeUnitSpec, 'image'>): UnitDriver {
    const driver = this.find(spec);
    if (driver === undefined)
      throw new UnitProblem('DriverUnavailable', `this node has no driver ${this.nameFor(spec)}`, { isFinal: true });
    const { name, isolation, why } = driver;
    if (isolation === undefined)
      throw new UnitProblem('DriverUnavailable', `the driver ${name} cannot be used on this node: ${why ?? 'unknown reason'}`, {
        isFinal: true,
      });
    if (isolation === 'none' && !this.#options.allowUnisolated)
      throw new UnitProblem(
        'DriverUnavailable',
        `this node cannot isolate units${why === undefined ? '' : ` (${why})`}; run its agent as root, or start it with --allow-unisolated`,
        { isFinal: true },
      );
    return driver;
  }

  /** For GPUNode.status. */
  describe(): NodeUnitDriver[] {
    return this.#options.drivers.map(({ name, isolation, why }) => ({
      name,
      ...(isolation !== undefined && { isolation }),
      ...(why !== undefined && why !== '' && { message: why.slice(0, 1024) }),
    }));
  }
}
