import type { Connections } from '../connect/connections.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import type { Backend } from '../registry/objects.ts';
import type { WatchHub } from '../watch/hub.ts';
import type { BuiltinObjects } from './builtin.ts';
import type { VirtualSubresource } from './subresources.ts';
import type { ComputedKind, VirtualKind, VirtualObject } from './virtual.ts';

/** The dependencies of the resource handlers. */
export interface Serving extends Backend {
  /** The built-in kinds. */
  readonly catalog: Catalog;
  /** The kinds served in each workspace. */
  readonly catalogs: Catalogs;
  readonly hub: WatchHub;
  /** Subresources that lead to a node. */
  readonly connections: Connections;
  /** By `group/resource`. */
  readonly virtualKinds: ReadonlyMap<string, VirtualKind>;
  /** By `group/resource`. */
  readonly computedKinds: ReadonlyMap<string, ComputedKind>;
  /** By `group/resource/name`, in the root workspace. */
  readonly virtualObjects: ReadonlyMap<string, VirtualObject>;
  readonly builtinObjects: BuiltinObjects;
  /** By `group/resource/subresource`: created through a subresource, and not stored as such. */
  readonly virtualSubresources: ReadonlyMap<string, VirtualSubresource>;
}
