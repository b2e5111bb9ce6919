import type { PartitionSet } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { reconcilePartitionSet, wantedPartitions, withOutcome } from './reconcile.ts';

const now = new Date('2026-01-02T03:04:05Z');
const shard = (labels: Record<string, string>): KubeObject => ({ apiVersion: '', kind: 'Shard', metadata: { labels } });
const partitionSet = (spec: PartitionSet['spec'] & object): PartitionSet => ({
  apiVersion: 'topology.kcp.io/v1alpha1',
  kind: 'PartitionSet',
  metadata: { name: 'set', uid: 'u' },
  spec,
});
const selectors = (spec: PartitionSet['spec'] & object, ...labels: Record<string, string>[]): unknown[] =>
  wantedPartitions(partitionSet(spec), labels.map(shard)).map((partition) => partition.spec?.selector);

describe('wantedPartitions', () => {
  test('returns one partition for each combination of labels that a shard has', () => {
    const shards = [{ region: 'a', zone: '1' }, { region: 'a', zone: '2' }, { region: 'a', zone: '1', extra: 'x' }, { region: 'b' }];
    expect(selectors({ dimensions: ['zone', 'region'] }, ...shards)).toEqual([
      { matchLabels: { region: 'a', zone: '1' } },
      { matchLabels: { region: 'a', zone: '2' } },
    ]);
  });

  test('adds the selector of the set', () => {
    const shardSelector = { matchLabels: { cloud: 'x' }, matchExpressions: [{ key: 'excluded', operator: 'DoesNotExist' }] };
    const shards = [
      { region: 'a', cloud: 'x' },
      { region: 'b', cloud: 'x', excluded: 'true' },
      { region: 'c', cloud: 'y' },
    ];
    expect(selectors({ dimensions: ['region'], shardSelector }, ...shards)).toEqual([
      { ...shardSelector, matchLabels: { cloud: 'x', region: 'a' } },
    ]);
  });

  test('returns none for a set without dimensions', () => {
    expect(selectors({ dimensions: [] }, { region: 'a' })).toEqual([]);
  });

  test('names partitions readably, and differently for different selectors', () => {
    const named = (region: string): string =>
      wantedPartitions(partitionSet({ dimensions: ['region'] }), [shard({ region })])[0]!.metadata.name!;
    expect(named('West_1')).toMatch(/^set-west-1-[0-9a-f]{5}$/);
    expect(named('West_1')).toBe(named('West_1'));
    expect(named('West_1')).not.toBe(named('west-1'));
    expect(named('r'.repeat(63))).toHaveLength(63);
  });
});

test('withOutcome reports the number of partitions, once', () => {
  const reported = withOutcome(partitionSet({}), 2, now)!;
  expect(reported.status).toMatchObject({
    count: 2,
    conditions: [{ type: 'PartitionSetValid' }, { type: 'PartitionsReady', status: 'True' }],
  });
  expect(withOutcome(reported, 2, new Date())).toBeUndefined();
});

test('reconcilePartitionSet deletes unwanted partitions and creates missing ones', async () => {
  const set = partitionSet({ dimensions: ['region'] });
  const [kept, missing] = wantedPartitions(set, [shard({ region: 'a' }), shard({ region: 'b' })]);
  const log: string[] = [];
  await reconcilePartitionSet(set, {
    shards: () => [shard({ region: 'a' }), shard({ region: 'b' })],
    partitionsOf: () => [kept!, { ...kept!, metadata: { name: 'old' } }],
    remove: async (name) => log.push(`delete ${name}`),
    create: async ({ metadata }) => log.push(`create ${metadata.name}`),
    updateStatus: async ({ status }) => log.push(`count ${status?.count}`),
    now: () => now,
  });
  expect(log).toEqual(['delete old', `create ${missing!.metadata.name}`, 'count 2']);
});
