import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '@capstan/store';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { builtinCatalog } from '../registry/catalog.ts';
import { readHistory } from './history.ts';

const resource = builtinCatalog().resource('', 'v1', 'configmaps')!;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-history-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

it('old events are read in portions, each of them once and in order', async () => {
  await using store = await openSqliteStore({ directory });
  const value = (index: number): string =>
    `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"","name":"${index}"},"data":{"a":"${'x'.repeat(100_000)}"}}`;
  const start = await store.currentRevision();
  const made: number[] = [];
  for (let index = 0; index < 40; index++) {
    made.push(await store.create(`/registry/a/core/configmaps/x/${index}`, value(index)));
    await store.create(`/registry/b/core/configmaps/x/${index}`, value(index));
  }
  const until = await store.currentRevision();
  const seen: number[] = [];
  let rounds = 0;
  for (let after = start; after < until; rounds++) {
    const history = (await readHistory(store, { resource, prefix: 'a/', until }, after))!;
    expect(history.events.reduce((sum, { entry }) => sum + entry.text.length, 0)).toBeLessThan(1 << 20);
    expect(history.reached).toBeGreaterThan(after);
    seen.push(...history.events.map(({ revision }) => revision));
    after = history.reached;
  }
  expect(seen).toEqual(made);
  expect(rounds).toBeGreaterThan(5);
});
