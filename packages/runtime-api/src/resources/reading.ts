import type { List } from '@capstan/client';
import { isObject, type JsonObject, type KubeObject } from '@capstan/machinery';
import { oneOf, wholeNumber } from '../http/parameters.ts';
import type { Call, Reply } from '../routes/call.ts';
import { toRest } from './mapping.ts';
import { type Place, placeOf } from './place.ts';
import type { RestResource } from './resource.ts';

export const largestPage = 500;
const defaultPage = 100;
/** How many pages of the API server one filtered list reads at most; the caller continues. */
const mostPages = 20;

/** `GET /<path>/{id}`. */
export async function getOne(resource: RestResource, call: Call): Promise<Reply> {
  const { workspace, collection } = await placeOf(resource, call);
  const path = `${collection}/${call.parameters['id']!}`;
  const object = await call.upstream.json<KubeObject>({ method: 'GET', path, authorization: call.authorization });
  return objectReply(200, object, workspace);
}

export function objectReply(status: number, object: KubeObject, workspace: string): Reply {
  return { status, body: toRest(object, workspace), headers: { etag: `"${object.metadata.resourceVersion ?? ''}"` } };
}

/** `GET /<path>`. */
export async function listSome(resource: RestResource, call: Call): Promise<Reply> {
  const place = await placeOf(resource, call);
  const phase = oneOf(call.query, 'phase', resource.phases ?? []);
  const limit = wholeNumber(call.query, 'limit', { from: 1, to: largestPage }) ?? defaultPage;
  const items: JsonObject[] = [];
  let token = call.query.get('continue') ?? '';
  let version = '';
  for (let page = 0; page < mostPages; page++) {
    // Never more than are missing, so that the token of the API server is always right behind the last item that was looked at.
    const found = await readPage(call, place, { limit: limit - items.length, token });
    version = found.metadata.resourceVersion;
    token = found.metadata.continue ?? '';
    for (const object of found.items) if (phase === undefined || phaseOf(object) === phase) items.push(toRest(object, place.workspace));
    if (token === '' || items.length >= limit) break;
  }
  return { status: 200, body: { items, version, ...(token !== '' && { continue: token }) } };
}

function readPage(
  { upstream, authorization, query }: Call,
  { collection }: Place,
  { limit, token }: { readonly limit: number; readonly token: string },
): Promise<List<KubeObject>> {
  const labels = query.get('label') ?? '';
  let path = `${collection}?limit=${limit}`;
  if (labels !== '') path += `&labelSelector=${encodeURIComponent(labels)}`;
  if (token !== '') path += `&continue=${encodeURIComponent(token)}`;
  return upstream.json({ method: 'GET', path, authorization });
}

export function phaseOf(object: KubeObject): unknown {
  const { status } = object as { readonly status?: unknown };
  return isObject(status) ? status['phase'] : undefined;
}
