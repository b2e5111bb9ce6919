import type { Change, Informer } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { Latest } from './latest.ts';

const object = (version: number, rest: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'a', uid: 'first', resourceVersion: String(version), ...rest },
});

/** A copy that changes when the test says so. */
function start(): { latest: Latest<KubeObject>; arrives: (change: Change<KubeObject>) => void; changes: (string | undefined)[] } {
  let arrives: (change: Change<KubeObject>) => void = () => {};
  const informer = {
    onChange(handler: typeof arrives) {
      arrives = handler;
      return { [Symbol.dispose]: () => {} };
    },
  } as unknown as Informer<KubeObject>;
  const changes: (string | undefined)[] = [];
  const onChange = (_: string, now: KubeObject | undefined): void => void changes.push(now?.metadata.resourceVersion);
  const latest = new Latest(informer, { keyOf: ({ metadata }) => metadata.name ?? '', onChange });
  return { latest, changes, arrives: (change) => arrives(change) };
}

const added = (one: KubeObject): Change<KubeObject> => ({ type: 'added', object: one, initial: false });
const deleted = (one: KubeObject): Change<KubeObject> => ({ type: 'deleted', object: one, assumed: false });

test('a write is known before the copy has it, and an older copy does not replace it', () => {
  const { latest, arrives, changes } = start();
  arrives(added(object(1)));
  latest.wrote(object(3));
  arrives({ type: 'updated', object: object(2), old: object(1) });
  expect(latest.get('a')?.metadata.resourceVersion).toBe('3');
  arrives({ type: 'updated', object: object(4), old: object(2) });
  expect(changes).toEqual(['1', '3', '4']);
});

test('an object is gone with its last finalizer, before the copy knows', () => {
  const { latest, arrives } = start();
  arrives(added(object(1)));
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  latest.wrote(object(2, { deletionTimestamp, finalizers: ['one'] }));
  expect(latest.get('a')).toBeDefined();
  latest.wrote(object(3, { deletionTimestamp }));
  expect(latest.get('a')).toBeUndefined();
});

test('the deletion of an object does not remove another one of the same name', () => {
  const { latest, arrives } = start();
  latest.wrote(object(5, { uid: 'second' }));
  arrives(deleted(object(4)));
  expect(latest.get('a')?.metadata.uid).toBe('second');
});
