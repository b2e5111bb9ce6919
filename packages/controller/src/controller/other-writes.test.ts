import { type Change, Client, fixedCredentials, Informer, keyText, type ObjectKey } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { beforeEach, describe, expect, test } from 'vitest';
import { arrivesWithin, OtherWrites } from './other-writes.ts';

const key: ObjectKey = { cluster: 'a', name: 'owner' };
const at = (resourceVersion: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'owned', resourceVersion, ...metadata },
});

/** An informer that a test fills. */
class FilledInformer extends Informer {
  readonly #copies = new Map<string, KubeObject>();
  readonly #handlers = new Set<(change: Change<KubeObject>) => void>();
  version = '5';

  constructor() {
    const client = new Client({ server: 'http://127.0.0.1:1', credentials: fixedCredentials({}), namespace: 'default' });
    super({ resource: client.resource({ group: '', version: 'v1', resource: 'configmaps', namespaced: true }) });
  }

  override get revision(): string {
    return this.version;
  }

  override getByText(text: string): KubeObject | undefined {
    return this.#copies.get(text);
  }

  override onChange(handler: (change: Change<KubeObject>) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  put(object: KubeObject): void {
    this.#copies.set(keyText(object), object);
    for (const handler of this.#handlers) handler({ type: 'added', object, initial: false });
  }

  remove(object: KubeObject): void {
    this.#copies.delete(keyText(object));
    for (const handler of this.#handlers) handler({ type: 'deleted', object, assumed: false });
  }
}

let informer: FilledInformer;
let arrived: ObjectKey[];
let now: number;
let writes: OtherWrites;
beforeEach(() => {
  informer = new FilledInformer();
  arrived = [];
  now = 0;
  writes = new OtherWrites(
    (one) => arrived.push(one),
    () => now,
  );
});

describe('OtherWrites', () => {
  test('holds an object back until the copy has what it created, and then calls it if it was due', () => {
    writes.note(key, at('10'), informer);
    expect(writes.isBehind({ cluster: 'a', name: 'other' })).toBe(false);
    expect(writes.isBehind(key)).toBe(true);
    informer.put(at('7'));
    expect([writes.isBehind(key), arrived]).toEqual([true, []]);
    informer.put(at('10'));
    expect([writes.isBehind(key), arrived]).toEqual([false, [key]]);
  });

  test('calls nobody who was not due', () => {
    writes.note(key, at('10'), informer);
    informer.put(at('10'));
    expect([writes.isBehind(key), arrived]).toEqual([false, []]);
  });

  test('calls everybody who wrote the same object, and nobody who wrote another', () => {
    const [second, third] = [
      { cluster: 'a', name: 'second' },
      { cluster: 'a', name: 'third' },
    ];
    writes.note(key, at('10'), informer);
    writes.note(second, at('11'), informer);
    writes.note(third, at('12', { name: 'other' }), informer);
    for (const one of [key, second, third]) expect(writes.isBehind(one)).toBe(true);
    informer.put(at('11'));
    expect(arrived).toEqual([key, second]);
    expect(writes.isBehind(third)).toBe(true);
  });

  test('waits for all writes', () => {
    writes.note(key, at('10'), informer);
    writes.note(key, at('11', { name: 'second' }), informer);
    expect(writes.isBehind(key)).toBe(true);
    informer.put(at('10'));
    expect(arrived).toEqual([]);
    informer.put(at('11', { name: 'second' }));
    expect(arrived).toEqual([key]);
  });

  test('lets the object through if what it wrote was deleted', () => {
    informer.put(at('4'));
    writes.note(key, at('10'), informer);
    expect(writes.isBehind(key)).toBe(true);
    informer.remove(at('4'));
    expect([writes.isBehind(key), arrived]).toEqual([false, [key]]);
  });

  test('lets the object through if the copy is complete beyond the write, or never gets it', () => {
    writes.note(key, at('10'), informer);
    informer.version = '12';
    expect(writes.isBehind(key)).toBe(false);
    informer.version = '5';
    writes.note(key, at('10'), informer);
    expect(writes.isBehind(key)).toBe(true);
    now = arrivesWithin + 1;
    expect(writes.isBehind(key)).toBe(false);
  });

  test.each([
    ['the copy has it', at('3')],
    ['it may be the end of an object', at('10', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['versions are not numbers', at('b')],
  ])('ignores a write if %s', (_, written) => {
    writes.note(key, written, informer);
    expect(writes.isBehind(key)).toBe(false);
  });
});
