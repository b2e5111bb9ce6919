import type { BoundResource, ResourceNames } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import type { SharingCaches } from '../caches.ts';
import { definitionType } from '../kinds.ts';
import type { SchemaCopies } from '../schemas/copies.ts';
import type { Taken } from './conflicts.ts';

interface Definition extends KubeObject {
  spec?: { group: string; names: ResourceNames };
  status?: { acceptedNames?: ResourceNames };
}

interface Parts {
  readonly client: Client;
  readonly caches: SharingCaches;
  readonly copies: SchemaCopies;
  readonly signal: AbortSignal;
}

/** The kinds of a workspace, except those of one binding. Most workspaces have no definitions, so that no request is needed. */
export async function takenKinds({ cluster, except }: { cluster: string; except: string }, parts: Parts): Promise<readonly Taken[]> {
  const { caches, client, copies, signal } = parts;
  const others = caches.bindings.byIndex('cluster', cluster).filter(({ metadata }) => metadata.name !== except);
  const bound = others.flatMap((binding) => (binding.status?.boundResources ?? []).map((resource) => ({ binding, resource })));
  const byBindings = bound.map(async ({ binding, resource }): Promise<Taken> => {
    const names = (await copies.copy(client, resource, signal))?.spec?.names ?? namesOf(resource);
    return { group: resource.group, names, by: { binding } };
  });
  return [...(await Promise.all(byBindings)), ...(await defined(cluster, parts))];
}

async function defined(cluster: string, { caches, client, signal }: Parts): Promise<Taken[]> {
  if (caches.definitions.byIndex('cluster', cluster).length === 0) return [];
  const { items } = await client.resource<Definition>(definitionType).list({ signal });
  return items.map(({ metadata, spec, status }) => ({
    group: spec!.group,
    names: status?.acceptedNames ?? spec!.names,
    by: { definition: metadata.name ?? '' },
  }));
}

/** The names of a kind, as far as they are known without its schema. */
function namesOf({ resource }: BoundResource): ResourceNames {
  return { plural: resource, kind: '' };
}
