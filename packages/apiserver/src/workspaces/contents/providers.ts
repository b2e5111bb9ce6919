import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, textOf } from '@capstan/machinery';
import { apiBindings, boundResources } from '../../bindings/bound-resources.ts';

const apiExports = { group: 'apis.kcp.io', resource: 'apiexports' } as const;

/** What is bound in a workspace from exports that are not there any more, as the store names it: nobody is left to let go of such objects. */
export function ownerlessResources(objects: ObjectReader, cluster: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const binding of objects.list(apiBindings, cluster)) {
    if (hasProvider(objects, binding)) continue;
    for (const { group, resource, identity } of boundResources(binding['status'])) found.add(`${group}/${resource}:${identity}`);
  }
  return found;
}

function hasProvider(objects: ObjectReader, binding: KubeObject): boolean {
  const provider = textOf(fieldsOf(binding['status'])['apiExportClusterName']);
  // One that was never bound has no objects.
  if (provider === '') return true;
  const name = textOf(fieldsOf(fieldsOf(fieldsOf(binding['spec'])['reference'])['export'])['name']);
  return objects.get({ ...apiExports, cluster: provider, namespace: '', name }) !== undefined;
}
