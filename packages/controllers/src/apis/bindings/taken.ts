import type { Client } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { type ApiBinding, type BoundResource, bindingType, definitionType, type Names } from '../kinds.ts';
import type { SchemaCopies } from '../schemas/copies.ts';
import type { Taken } from './conflicts.ts';

interface Definition extends KubeObject {
  spec?: { group: string; names: Names };
  status?: { acceptedNames?: Names };
}

/** The kinds that a workspace has beside those of one binding. */
export async function takenKinds(
  client: Client,
  { except, copies, signal }: { except: string; copies: SchemaCopies; signal: AbortSignal },
): Promise<readonly Taken[]> {
  const [bindings, definitions] = await Promise.all([
    client.resource<ApiBinding>(bindingType).list({ signal }),
    client.resource<Definition>(definitionType).list({ signal }),
  ]);
  const others = bindings.items.filter(({ metadata }) => metadata.name !== except);
  const bound = others.flatMap((binding) => (binding.status?.boundResources ?? []).map((resource) => ({ binding, resource })));
  const byBindings = bound.map(async ({ binding, resource }): Promise<Taken> => {
    const names = (await copies.copy(client, resource, signal))?.spec?.names ?? namesOf(resource);
    return { group: resource.group, names, by: { binding } };
  });
  const byDefinitions = definitions.items.map(
    ({ metadata, spec, status }): Taken => ({
      group: spec!.group,
      names: status?.acceptedNames ?? spec!.names,
      by: { definition: metadata.name ?? '' },
    }),
  );
  return [...(await Promise.all(byBindings)), ...byDefinitions];
}

/** What can be told of a kind without its schema. */
function namesOf({ resource }: BoundResource): Names {
  return { plural: resource, kind: '' };
}
