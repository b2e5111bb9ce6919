import type { UnitRoom } from '../driver.ts';
import { allEnded } from './all-ended.ts';
import type { BoxState, Dialect } from './dialect.ts';
import type { Engine } from './engine.ts';
import { type LayerOptions, limitLayer } from './layer.ts';
import { type BoxOptions, type BoxPlace, boxSpec, writeHosts } from './spec.ts';
import type { Surroundings } from './surroundings.ts';

export interface Backend {
  readonly engine: Engine;
  readonly dialect: Dialect;
  readonly surroundings: Surroundings;
}

export interface MakeBoxOptions extends BoxOptions, Pick<BoxPlace, 'name' | 'folder'> {
  readonly incarnation: number;
  /** How large the files may become that a program changes; undefined if that cannot be limited. */
  readonly layer?: LayerOptions | undefined;
}

/**
 * Makes a container with everything that it needs, and does not start it. Namespaces, the container and the space for its files are made at the same time, since each of them
 * takes some tens of milliseconds. Rejects with a UnitProblem or an EngineError, and then nothing of this is under way any more.
 */
export async function makeBox(backend: Backend, room: UnitRoom, options: MakeBoxOptions): Promise<void> {
  const { engine, dialect, surroundings } = backend;
  const { name, folder, incarnation, layer } = options;
  const { namespaces, ready } = await surroundings.open(room, incarnation, folder);
  const create = async (): Promise<BoxState | undefined> => {
    await dialect.create(engine, await boxSpec(room, { ...options, namespaces }));
    return layer && dialect.inspect(engine, name);
  };
  const created = create();
  const [{ address }] = await allEnded([ready, created, layer && limitLayer(folder, created, layer)]);
  if (address !== undefined) await writeHosts(room, folder, address);
}
