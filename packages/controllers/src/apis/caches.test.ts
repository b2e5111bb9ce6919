import type { ApiBinding } from '@capstan/api';
import type { InformerFactory } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { SharingCaches } from './caches.ts';
import { binding, cowboyExport } from './testing.ts';

const at = <T extends KubeObject>(object: T, cluster: string, path?: string): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { 'kcp.io/cluster': cluster, ...(path !== undefined && { 'kcp.io/path': path }) } },
});

/** Informers with these objects, by the index that is used first. */
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

/** The workspace of a binding's export, if these are all exports. */
function exportOf(bound: ApiBinding, exports: readonly KubeObject[]): string | undefined {
  const informers = { informer: () => new Held(exports) } as unknown as InformerFactory;
  return new SharingCaches(informers).exportOf(bound)?.metadata.annotations?.['kcp.io/cluster'];
}

const first = at(cowboyExport('cowboys', 'today'), 'one', 'root:ranch');
const second = at(cowboyExport('cowboys', 'today'), 'two', 'root:ranch');

test('finds the export of a new binding at the path that it names', () => {
  expect(exportOf(at(binding('cowboys', 'root:ranch'), 'town'), [first])).toBe('one');
  expect(exportOf(at(binding('cowboys', 'one'), 'town'), [first])).toBe('one');
  expect(exportOf(at(binding('cowboys', ''), 'one'), [first])).toBe('one');
});

test('does not follow the path of a bound binding to a workspace that was created again', () => {
  const bound = { ...at(binding('cowboys', 'root:ranch'), 'town'), status: { apiExportClusterName: 'one' } };
  expect(exportOf(bound, [second])).toBeUndefined();
  expect(exportOf(bound, [second, first])).toBe('one');
});
