import { setTimeout as sleep } from 'node:timers/promises';
import { operationIdAnnotation, requestHashAnnotation } from '@capstan/api';
import { isNotFound, type List } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { Operation } from '../idempotency/operation.ts';
import type { Call } from '../routes/call.ts';
import type { Place } from './place.ts';

/** How often a replica looks whether the others have withdrawn, and the pause in between, in milliseconds. */
const looks = 50;
const pause = 100;

/** The object that an earlier request with the same key of the same user has created. While there are several, all but the first are about to be withdrawn. */
export async function findOperation(call: Call, place: Place, operation: Operation): Promise<KubeObject | undefined> {
  for (let look = 1; ; look++) {
    const found = await withKey(call, place, { operation });
    if (found.length <= 1) return found[0];
    const staying = found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (staying.length === 1) return staying[0];
    // A replica that was killed at this moment has left its own behind.
    if (look === looks)
      return found.find(({ metadata }) => metadata.annotations?.[requestHashAnnotation] === operation.requestHash) ?? found[0];
    await sleep(pause);
  }
}

/**
 * Requests with one key and different names that come at the same time create several objects. The first one counts: the list at the revision of each creation says whether
 * there was another before, so all replicas come to the same answer. Returns that other object, after this one was withdrawn.
 */
export async function giveWay(
  call: Call,
  place: Place,
  { object, operation }: { object: KubeObject; operation: Operation },
): Promise<KubeObject | undefined> {
  const isOther = ({ metadata }: KubeObject): boolean => metadata.uid !== object.metadata.uid;
  if (!(await withKey(call, place, { operation })).some(isOther)) return undefined;
  const { name = '', resourceVersion = '', uid = '' } = object.metadata;
  const before = (await withKey(call, place, { operation, revision: resourceVersion })).find(isOther);
  if (before === undefined) return undefined;
  const { upstream, authorization } = call;
  const body = JSON.stringify({ preconditions: { uid } });
  await ignoring(upstream.json({ method: 'DELETE', path: `${place.collection}/${name}`, authorization, body }), isNotFound);
  return before;
}

async function withKey(
  { upstream, authorization }: Call,
  { collection }: Place,
  { operation, revision }: { readonly operation: Operation; readonly revision?: string },
): Promise<KubeObject[]> {
  const exactly = revision === undefined ? '' : `&resourceVersion=${revision}&resourceVersionMatch=Exact`;
  const path = `${collection}?labelSelector=${encodeURIComponent(`${operationIdAnnotation}=${operation.label}`)}${exactly}`;
  const { items } = await upstream.json<List<KubeObject>>({ method: 'GET', path, authorization });
  return items.filter(({ metadata }) => metadata.annotations?.[operationIdAnnotation] === operation.id);
}
