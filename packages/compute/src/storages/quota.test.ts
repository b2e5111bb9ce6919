import type { FleetQuotaSpec, NodeVolume } from '@capstan/api';
import { QuotaGate } from '@capstan/fleet';
import { describe, expect, test } from 'vitest';
import { countedVolume, storageAmount } from './quota.ts';

const gibibyte = 2 ** 30;
const quotas: FleetQuotaSpec[] = [{ workspace: 'root:acme', homes: false, limits: { storage: '10Gi' } }];
const volume = (
  name: string,
  size: number,
  { path, phase = 'Ready', ...spec }: { path?: string; phase?: string; retained?: boolean } = {},
) =>
  ({
    metadata: { name },
    spec: { owner: { cluster: 'c', ...(path !== undefined && { path }) }, size: size * gibibyte, ...spec },
    status: { phase },
  }) as unknown as NodeVolume;
const asked = (id: string, size: number) => ({ id, path: 'root:acme:team', amount: storageAmount(size * gibibyte) });
const gate = (): QuotaGate => new QuotaGate(['storage']);
const path = 'root:acme:other';

describe('the quota of storages', () => {
  test('counts volumes until their files are deleted, retained ones too', () => {
    const quota = gate();
    const state = {
      quotas,
      counted: () => [volume('a', 4, { path, retained: true }), volume('b', 8, { path, phase: 'Deleted' })].map(countedVolume),
    };
    expect(quota.refusal(asked('x', 6), state)).toBeUndefined();
    expect(quota.refusal(asked('x', 7), state)).toBe(
      'the limit of root:acme is 10 GiB of storage; 4 GiB of storage are in use, and 7 GiB of storage were asked for',
    );
  });

  test('is not exceeded by two that are admitted before either is written', () => {
    const quota = gate();
    const state = { quotas, counted: () => [] };
    expect(quota.admit(asked('a', 6), state)).toBeUndefined();
    expect(quota.admit(asked('b', 6), state)).toContain('6 GiB of storage are in use');
    expect(quota.admit(asked('a', 6), state)).toBeUndefined();
    quota.forget('a');
    expect(quota.admit(asked('b', 6), state)).toBeUndefined();
  });

  test('counts a volume once, and its growth before it is written', () => {
    const quota = gate();
    const counted = () => [volume('a', 4, { path: 'root:acme:team' })].map(countedVolume);
    expect(quota.admit(asked('a', 4), { quotas, counted: () => [] })).toBeUndefined();
    expect(quota.refusal(asked('b', 6), { quotas, counted })).toBeUndefined();
    expect(quota.admit(asked('a', 8), { quotas, counted })).toBeUndefined();
    expect(quota.refusal(asked('b', 6), { quotas, counted })).toContain('8 GiB of storage are in use');
    expect(quota.admit(asked('a', 11), { quotas, counted })).toContain('11 GiB of storage were asked for');
  });

  test('is nothing without limits', () => {
    const limits = [{ workspace: 'root:acme', homes: false, limits: { gpus: 0 } }];
    const counted = (): never => {
      throw new Error('nothing has to be counted');
    };
    expect(gate().admit(asked('a', 1000), { quotas: limits, counted })).toBeUndefined();
  });
});
