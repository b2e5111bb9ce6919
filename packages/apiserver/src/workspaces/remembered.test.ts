import type { ClusterId } from '@capstan/api';
import { beforeEach, expect, test } from 'vitest';
import type { CacheListener, WatchCache } from '../cache/watch-cache.ts';
import { rememberedWorkspace } from './remembered.ts';
import { logicalClusters, type Tree, workspaces } from './tree.ts';

const held = (): { entries: Map<string, unknown>; listeners: Set<CacheListener> } => ({ entries: new Map(), listeners: new Set() });
let caches: Record<string, ReturnType<typeof held>>;
/** The id that the tree knows, and how often it was asked. */
let id: string | undefined;
let asked: number;
let workspace: () => ClusterId | undefined;
beforeEach(() => {
  caches = { [workspaces.resource]: held(), [logicalClusters.resource]: held() };
  id = 'one';
  asked = 0;
  const cache = { resource: ({ resource }: { resource: string }) => caches[resource] } as unknown as WatchCache;
  const resolve = (): ClusterId => {
    asked++;
    return id as ClusterId;
  };
  const tree = { resolve } as unknown as Tree;
  workspace = rememberedWorkspace('root:platform', { tree, cache });
});

test('is resolved once while no workspace changes', () => {
  expect([workspace(), workspace(), workspace()]).toEqual(['one', 'one', 'one']);
  expect(asked).toBe(1);
});

test('is looked for again while there is none', () => {
  id = undefined;
  expect(workspace()).toBeUndefined();
  id = 'one';
  expect(workspace()).toBe('one');
});

test.each([workspaces.resource, logicalClusters.resource])('is resolved again after a change of %s', (resource) => {
  expect(workspace()).toBe('one');
  id = 'two';
  for (const listener of caches[resource]!.listeners) listener.changed([]);
  expect(workspace()).toBe('two');
});

test.each([workspaces.resource, logicalClusters.resource])('is resolved again after the cache was read anew: %s', (resource) => {
  expect(workspace()).toBe('one');
  id = 'two';
  caches[resource]!.entries = new Map();
  expect(workspace()).toBe('two');
});
