import { rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import type { CacheEvent } from '../cache/event-ring.ts';
import { cacheKey } from '../cache/watch-cache.ts';
import type { Serving } from '../handlers/serving.ts';
import type { Resource } from '../registry/resource.ts';
import { coalesced } from '../upkeep/coalesced.ts';
import { namespaceObjects } from './core.ts';
import { makeMissing } from './write.ts';

export interface StandingOptions {
  /** The current objects by which clients in the cluster find the servers. Their names never change. */
  readonly published: () => readonly KubeObject[];
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

/** Recreates, whenever they are deleted, the system namespaces and the objects by which clients in the cluster find the server. */
export function keepStanding(serving: Serving, { published, now, onError }: StandingOptions): void {
  const objects = (): KubeObject[] => [...namespaceObjects(), ...published()];
  const run = coalesced(() => makeMissing(serving, now, objects()));
  for (const [resource, keys] of keysOf(serving, objects())) {
    const changed = (events: readonly CacheEvent[]): void => {
      for (const { type, entry } of events) {
        if (type === 'DELETED' && keys.has(entry.key)) return void run().catch(onError);
      }
    };
    serving.cache.resource(resource.storage).listeners.add({ changed });
  }
}

function keysOf(serving: Serving, objects: readonly KubeObject[]): Map<Resource, Set<string>> {
  const keys = new Map<Resource, Set<string>>();
  for (const object of objects) {
    const resource = serving.catalog.ofObject(object);
    const { namespace = '', name = '' } = object.metadata;
    const known = keys.get(resource) ?? new Set();
    keys.set(resource, known.add(cacheKey({ cluster: rootCluster, namespace, name })));
  }
  return keys;
}
