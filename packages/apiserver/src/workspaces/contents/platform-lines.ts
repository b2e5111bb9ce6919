import { type KubeObject, parseApiVersion, status, whole } from '@capstan/machinery';
import type { Catalog } from '../../registry/catalog.ts';
import type { RequestContext } from '../../registry/context.ts';
import { newObjectErrors } from '../../registry/objects.ts';
import { kcpDefinitions } from '../kinds/definitions.ts';

const platformKinds: ReadonlySet<string> = new Set(kcpDefinitions().map(({ metadata }) => metadata.name!));

/**
 * Rejects an imported object of kcp's kinds that does not fit its schema. An import passes no admission, and the server reads stored objects of these kinds
 * without checking their fields again.
 */
export function checkPlatformLine(
  { at, object }: { readonly at: string; readonly object: KubeObject },
  { line, kinds, context }: { readonly line: number; readonly kinds: Catalog; readonly context: RequestContext },
): void {
  const [group = '', name = ''] = at.split('/');
  if (!platformKinds.has(`${name}.${group}`)) return;
  const resource = kinds.resource(group, parseApiVersion(object.apiVersion).version, name);
  const isStoredForm = resource !== undefined && resource.storage.apiVersion === object.apiVersion && resource.kind === object.kind;
  if (!isStoredForm)
    throw status.badRequest(`line ${line}: ${at} holds a ${object.kind} in ${object.apiVersion}, which is not stored there`);
  const [error] = whole(newObjectErrors(resource, object, context));
  if (error !== undefined) throw status.badRequest(`line ${line}: ${at} does not fit its schema: ${error.field}: ${error.body}`);
}
