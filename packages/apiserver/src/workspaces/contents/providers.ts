import { type ApiBinding, asClusterId, type ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { apiBindings, boundResources } from '../../bindings/bound-resources.ts';
import { apiExports } from '../../bindings/names.ts';
import { referenceOf } from '../../bindings/reference.ts';

/** The resources, as the store names them, that a workspace has bound from exports that no longer exist: nobody is left to remove finalizers from their objects. */
export function ownerlessResources(objects: ObjectReader, cluster: ClusterId): ReadonlySet<string> {
  const found = new Set<string>();
  for (const binding of objects.list(apiBindings, cluster)) {
    if (hasProvider(objects, binding)) continue;
    for (const { group, resource, identity } of boundResources(binding.status)) found.add(`${group}/${resource}:${identity}`);
  }
  return found;
}

function hasProvider(objects: ObjectReader, binding: ApiBinding): boolean {
  const provider = asClusterId(binding.status?.apiExportClusterName ?? '');
  // One that was never bound has no objects.
  if (provider === '') return true;
  const name = referenceOf(binding)?.name ?? '';
  return objects.get({ ...apiExports, cluster: provider, namespace: '', name }) !== undefined;
}
