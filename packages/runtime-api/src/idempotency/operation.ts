import { createHash } from 'node:crypto';
import { isObject, type Json, type JsonObject } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';

/** A request with an idempotency key. Everything is derived, so that every replica derives the same. */
export interface Operation {
  /** Identifies the key of this user for this resource. */
  readonly id: string;
  /** The same, short enough for a label. */
  readonly label: string;
  /** The end of a name that the caller did not choose. */
  readonly nameSuffix: string;
  /** Of the body, whatever the order of its members. */
  readonly requestHash: string;
}

export interface OperationFacts {
  readonly key: string | readonly string[];
  readonly user: string;
  readonly resource: string;
  readonly namespace: string;
  readonly body: JsonObject;
}

const validKey = /^[\x21-\x7e]{1,255}$/;

/** The workspace is no part of it, because objects of different workspaces never meet. */
export function operationOf({ key, user, resource, namespace, body }: OperationFacts): Operation {
  if (typeof key !== 'string' || !validKey.test(key))
    throw new Problem('invalid_idempotency_key', 'Idempotency-Key: expected 1 to 255 visible ASCII characters, such as a UUID.');
  const id = hash(JSON.stringify([user, resource, namespace, key]));
  return { id, label: id.slice(0, 40), nameSuffix: id.slice(0, 20), requestHash: hash(canonical(body)) };
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The text of a value, with the members of objects in order. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key]!)}`);
  return `{${members.join(',')}}`;
}
