import type { AppInstance, AppMember, AppOperation } from '@capstan/api';
import type { List } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { toRest } from '../resources/mapping.ts';
import { type Place, placeOf } from '../resources/place.ts';
import type { RestResource } from '../resources/resource.ts';
import { appMembers, appOperations, restResources } from '../resources/table.ts';
import type { Call, Reply } from '../routes/call.ts';

export const appInstances = restResources.find(({ path }) => path === 'app-runtime/instances')!;

/** The instance of a request, as the caller may read it. */
export async function instanceOf(call: Call): Promise<{ readonly instance: AppInstance; readonly place: Place }> {
  const place = await placeOf(appInstances, call);
  const path = `${place.collection}/${call.parameters['id']!}`;
  return { instance: await call.upstream.json<AppInstance>({ method: 'GET', path, authorization: call.authorization }), place };
}

/** `GET …/{id}/members` and `GET …/{id}/operations`: objects of the instance, all of them. */
async function listOwn<T extends KubeObject & { readonly spec: { readonly instance: string } }>(
  resource: RestResource,
  call: Call,
): Promise<Reply> {
  const { instance } = await instanceOf(call);
  const place = await placeOf(resource, call);
  const { items, metadata } = await call.upstream.json<List<T>>({
    method: 'GET',
    path: place.collection,
    authorization: call.authorization,
  });
  const own = items.filter(({ spec }) => spec.instance === instance.metadata.name);
  return { status: 200, body: { items: own.map((one) => toRest(one, place.workspace)), version: metadata.resourceVersion } };
}

export const listMembers = (call: Call): Promise<Reply> => listOwn<AppMember>(appMembers, call);
export const listOperations = (call: Call): Promise<Reply> => listOwn<AppOperation>(appOperations, call);
