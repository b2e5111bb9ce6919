import type { Json, JsonObject, KubeObject } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';
import type { Call, Reply } from '../routes/call.ts';
import { fromRest, type Wanted } from './mapping.ts';
import { placeOf } from './place.ts';
import { objectReply } from './reading.ts';
import type { Action, RestResource } from './resource.ts';
import { isVersion } from './version.ts';

const mergePatch = 'application/merge-patch+json';
/** Unknown fields inside of others are refused, not dropped. */
const strictly = 'fieldManager=capstan-runtime-api&fieldValidation=Strict';

/** `PUT /<path>/{id}`: the labels and the spec become those of the body. */
export async function replaceOne(resource: RestResource, call: Call): Promise<Reply> {
  const { workspace, collection } = await placeOf(resource, call);
  const name = call.parameters['id']!;
  const wanted = fromRest(resource, await call.body());
  checkName(wanted, name);
  const { authorization, upstream } = call;
  const current = await upstream.json<KubeObject>({ method: 'GET', path: `${collection}/${name}`, authorization });
  const version = versionOf(call, wanted) ?? current.metadata.resourceVersion;
  const { labels: _, ...metadata } = current.metadata as unknown as JsonObject;
  const next = {
    ...current,
    metadata: { ...metadata, resourceVersion: version, ...(wanted.labels !== undefined && { labels: wanted.labels }) },
    spec: wanted.spec,
  };
  const path = `${collection}/${name}?${strictly}`;
  return objectReply(200, await upstream.json({ method: 'PUT', path, authorization, body: JSON.stringify(next) }), workspace);
}

/** `PATCH /<path>/{id}`: a merge patch as in RFC 7396. */
export async function patchOne(resource: RestResource, call: Call): Promise<Reply> {
  const name = call.parameters['id']!;
  const wanted = fromRest(resource, await call.body());
  checkName(wanted, name);
  return merge(resource, call, wanted);
}

/** `POST /<path>/{id}/<action>`. */
export async function act(resource: RestResource, { spec }: Action, call: Call): Promise<Reply> {
  const wanted = { name: undefined, labels: undefined, version: undefined };
  if (typeof spec !== 'function') return merge(resource, call, { ...wanted, spec });
  const { collection } = await placeOf(resource, call);
  const { authorization, upstream } = call;
  const current = await upstream.json<KubeObject & { readonly spec: JsonObject }>({
    method: 'GET',
    path: `${collection}/${call.parameters['id']!}`,
    authorization,
  });
  // Not only for the version that was read: controllers write the status of the same object all the time.
  return merge(resource, call, { ...wanted, spec: spec(current.spec) });
}

async function merge(resource: RestResource, call: Call, wanted: Wanted): Promise<Reply> {
  const { workspace, collection } = await placeOf(resource, call);
  const name = call.parameters['id']!;
  const version = versionOf(call, wanted);
  const metadata: Record<string, Json> = {
    ...(version !== undefined && { resourceVersion: version }),
    ...(wanted.labels !== undefined && { labels: wanted.labels }),
  };
  const patch = { ...(Object.keys(metadata).length > 0 && { metadata }), spec: wanted.spec };
  const path = `${collection}/${name}?${strictly}`;
  const { authorization } = call;
  const object = await call.upstream.json<KubeObject>({
    method: 'PATCH',
    path,
    authorization,
    body: JSON.stringify(patch),
    type: mergePatch,
  });
  return objectReply(200, object, workspace);
}

/** `DELETE /<path>/{id}`. An object that ends on its own time is returned with 202. */
export async function deleteOne(resource: RestResource, call: Call): Promise<Reply> {
  const { workspace, collection } = await placeOf(resource, call);
  const path = `${collection}/${call.parameters['id']!}`;
  const version = versionIn(call.incoming.headers['if-match']);
  const body = version === undefined ? {} : { body: JSON.stringify({ preconditions: { resourceVersion: version } }) };
  const answer = await call.upstream.json<KubeObject>({ method: 'DELETE', path, authorization: call.authorization, ...body });
  return answer.kind === 'Status' ? { status: 204 } : objectReply(202, answer, workspace);
}

/** The version that the caller has read, from the header or the body. Without one, the last writer wins. */
function versionOf(call: Call, { version }: Wanted): string | undefined {
  if (version !== undefined && !isVersion(version))
    throw new Problem('invalid_request', 'version: expected that of an object, such as "42".');
  return versionIn(call.incoming.headers['if-match']) ?? version;
}

function versionIn(header: string | undefined): string | undefined {
  if (header === undefined || header === '*') return undefined;
  const found = /^"(.*)"$/.exec(header)?.[1];
  if (found === undefined || !isVersion(found))
    throw new Problem('invalid_request', 'If-Match: expected the ETag of an object, such as "42".');
  return found;
}

function checkName({ name }: Wanted, inPath: string): void {
  if (name === undefined || name === inPath) return;
  throw new Problem('validation_failed', 'Names cannot be changed.', { errors: [{ field: 'name', message: `must be ${inPath}` }] });
}
