import type { DiscoveredResource } from '@capstan/client';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkspaceTypeCache } from './workspace-type-cache.ts';

const discover = vi.fn<() => Promise<DiscoveredResource[]>>();

const type = (version: string): DiscoveredResource => ({
  group: 'shop.example.com',
  version,
  resource: 'carts',
  kind: 'Cart',
  namespaced: true,
  verbs: ['list'],
  shortNames: [],
  subresources: [],
});
const { signal } = new AbortController();
let now: number;
let cache: WorkspaceTypeCache;

beforeEach(() => {
  now = 0;
  discover.mockReset();
  discover.mockResolvedValue([type('v2'), type('v1')]);
  cache = new WorkspaceTypeCache({ discover, lifetime: 1000, keyOf: ({ resource }) => resource, now: () => now });
});

describe('WorkspaceTypeCache', () => {
  test('finds the first type with a key, and asks once within its lifetime', async () => {
    expect(await cache.find('a', 'carts', signal)).toEqual(type('v2'));
    now = 999;
    expect(await cache.find('a', 'orders', signal)).toBeUndefined();
    expect(discover).toHaveBeenCalledTimes(1);
    now = 1000;
    await cache.find('a', 'carts', signal);
    expect(discover).toHaveBeenCalledTimes(2);
  });

  test('findOrAsk asks again before it says that a type is not served', async () => {
    await cache.findOrAsk('a', 'carts', signal);
    await cache.findOrAsk('a', 'carts', signal);
    expect(discover).toHaveBeenCalledTimes(1);
    expect(await cache.findOrAsk('a', 'orders', signal)).toBeUndefined();
    expect(discover).toHaveBeenCalledTimes(2);
  });

  test('asks again about a forgotten workspace', async () => {
    await cache.find('a', 'carts', signal);
    cache.forget('a');
    await cache.find('a', 'carts', signal);
    expect(discover).toHaveBeenCalledTimes(2);
  });

  test('does not remember a failure', async () => {
    discover.mockRejectedValueOnce(new Error('unreachable'));
    await expect(cache.find('a', 'carts', signal)).rejects.toThrow('unreachable');
    expect(await cache.find('a', 'carts', signal)).toEqual(type('v2'));
  });
});
