import type { InformerFactory } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { SharingCaches } from './caches.ts';
import type { ApiBinding } from './kinds.ts';
import { binding, cowboyExport } from './testing.ts';

const at = <T extends KubeObject>(object: T, cluster: string, path?: string): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { 'kcp.io/cluster': cluster, ...(path !== undefined && { 'kcp.io/path': path }) } },
});

/** Objects that are there, by the index that is asked first. */
class Held {
  readonly #objects: readonly KubeObject[];
  #valuesOf: ((object: KubeObject) => readonly string[]) | undefined;

  constructor(objects: readonly KubeObject[]) {
    this.#objects = objects;
  }

  addIndex(_: string, valuesOf: (object: KubeObject) => readonly string[]): void {
    this.#valuesOf ??= valuesOf;
  }

  byIndex(_: string, value: string): KubeObject[] {
    return this.#objects.filter((object) => this.#valuesOf!(object).includes(value));
  }
}

/** The workspace of the export that a binding is of, when these are all there are. */
function exportOf(bound: ApiBinding, exports: readonly KubeObject[]): string | undefined {
  const informers = { informer: () => new Held(exports) } as unknown as InformerFactory;
  return new SharingCaches(informers).exportOf(bound)?.metadata.annotations?.['kcp.io/cluster'];
}

const first = at(cowboyExport('cowboys', 'today'), 'one', 'root:ranch');
const second = at(cowboyExport('cowboys', 'today'), 'two', 'root:ranch');

test('a new binding is of the export at the path that it names', () => {
  expect(exportOf(at(binding('cowboys', 'root:ranch'), 'town'), [first])).toBe('one');
  expect(exportOf(at(binding('cowboys', 'one'), 'town'), [first])).toBe('one');
  expect(exportOf(at(binding('cowboys', ''), 'one'), [first])).toBe('one');
});

test('a binding that is bound does not follow a path to a workspace that was made anew', () => {
  const bound = { ...at(binding('cowboys', 'root:ranch'), 'town'), status: { apiExportClusterName: 'one' } };
  expect(exportOf(bound, [second])).toBeUndefined();
  expect(exportOf(bound, [second, first])).toBe('one');
});
