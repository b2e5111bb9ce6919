import { operationIdAnnotation, requestHashAnnotation } from '@capstan/api';
import { isAlreadyExists } from '@capstan/client';
import { fieldsOf, isObject, type JsonObject, type KubeObject, textOf } from '@capstan/machinery';
import { type Operation, operationOf } from '../idempotency/operation.ts';
import { Problem } from '../problems/problem.ts';
import type { Call, Reply } from '../routes/call.ts';
import { fromRest, type Wanted } from './mapping.ts';
import { type Place, placeOf } from './place.ts';
import { objectReply } from './reading.ts';
import type { RestResource } from './resource.ts';
import { findOperation, giveWay } from './same-key.ts';

const strictly = 'fieldManager=capstan-runtime-api&fieldValidation=Strict';

/**
 * `POST /<path>`. With an idempotency key the object itself remembers the request, so any replica gives the same answer for as long as the object exists: the name is
 * derived from the key unless the body has one, and the hash of the body is kept with it. Of requests with different names that come at the same time, the first counts.
 */
export async function createOne(resource: RestResource, call: Call): Promise<Reply> {
  const place = await placeOf(resource, call);
  const body = await call.body();
  const wanted = fromRest(resource, body);
  const key = call.incoming.headers['idempotency-key'];
  if (key === undefined) return created(await create(resource, call, { place, wanted }), place);
  const user = await userOf(call, place);
  const operation = operationOf({ key, user, resource: resource.path, namespace: place.namespace, body });
  const before = await findOperation(call, place, operation);
  if (before !== undefined) return repeated(before, operation, place);
  try {
    const object = await create(resource, call, { place, wanted, operation });
    const first = await giveWay(call, place, { object, operation });
    return first === undefined ? created(object, place) : repeated(first, operation, place);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // Somebody was faster: another replica with the same request, or another object with the name.
    const now = await findOperation(call, place, operation);
    if (now === undefined) throw error;
    return repeated(now, operation, place);
  }
}

interface Creation {
  readonly place: Place;
  readonly wanted: Wanted;
  readonly operation?: Operation;
}

function create(resource: RestResource, call: Call, { place, wanted, operation }: Creation): Promise<KubeObject> {
  const { kind, namePrefix } = resource;
  const name = wanted.name ?? (operation && `${namePrefix}${operation.nameSuffix}`);
  const labels = wanted.labels === undefined ? {} : wanted.labels;
  const object = {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: {
      ...(name === undefined ? { generateName: namePrefix } : { name }),
      ...(place.namespace !== '' && { namespace: place.namespace }),
      ...labelsOf(labels, operation),
      ...(operation && { annotations: { [operationIdAnnotation]: operation.id, [requestHashAnnotation]: operation.requestHash } }),
    },
    spec: wanted.spec,
  };
  const path = `${place.collection}?${strictly}`;
  return call.upstream.json({ method: 'POST', path, authorization: call.authorization, body: JSON.stringify(object) });
}

function labelsOf(labels: unknown, operation: Operation | undefined): JsonObject {
  if (!isObject(labels))
    throw new Problem('validation_failed', 'labels must be an object.', { errors: [{ field: 'labels', message: 'must be an object' }] });
  const all: JsonObject = { ...labels, ...(operation && { [operationIdAnnotation]: operation.label }) };
  return Object.keys(all).length === 0 ? {} : { labels: all };
}

function repeated(object: KubeObject, { requestHash }: Operation, { workspace }: Place): Reply {
  if (object.metadata.annotations?.[requestHashAnnotation] !== requestHash)
    throw new Problem(
      'idempotency_key_reused',
      `This key was used to create ${object.metadata.name ?? ''} with another body. Use a new key for a new request.`,
    );
  const reply = objectReply(201, object, workspace);
  return reply === 'sent' ? reply : { ...reply, headers: { ...reply.headers, 'idempotency-replayed': 'true' } };
}

function created(object: KubeObject, { workspace }: Place): Reply {
  return objectReply(201, object, workspace);
}

/** The API server's name for the caller: keys of different users are different. */
async function userOf({ upstream, authorization }: Call, { workspace }: Place): Promise<string> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = `/clusters/${workspace}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
  const answer: unknown = await upstream.json({ method: 'POST', path, authorization, body: JSON.stringify(review) });
  return textOf(fieldsOf(fieldsOf(fieldsOf(answer)['status'])['userInfo'])['username']);
}
