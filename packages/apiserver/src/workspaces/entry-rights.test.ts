import { asClusterId, type User } from '@capstan/api';
import { expect, test } from 'vitest';
import { EntryRights } from './entry-rights.ts';

const alice: User = { name: 'alice', groups: [] };

function stage() {
  const open = new Set<string>();
  const changed = new Map<string, number>();
  const asked: string[] = [];
  const mayEnter = (user: User, cluster: string): boolean => {
    asked.push(`${user.name} ${cluster}`);
    return open.has(`${user.name} ${cluster}`);
  };
  const rights = new EntryRights(mayEnter, (cluster) => changed.get(cluster) ?? 0);
  const change = (cluster: string): void => void changed.set(cluster, (changed.get(cluster) ?? 0) + 1);
  return { open, asked, rights, change };
}

test('computes an answer once while nothing changes', () => {
  const { open, asked, rights } = stage();
  open.add('alice a');
  expect([1, 2, 3].map(() => rights.mayEnter(alice, asClusterId('a')))).toEqual([true, true, true]);
  expect([1, 2].map(() => rights.mayEnter(alice, asClusterId('b')))).toEqual([false, false]);
  expect(asked).toEqual(['alice a', 'alice b']);
});

test('applies a granted or revoked right to the next request', () => {
  const { open, rights, change } = stage();
  for (const given of [true, false, true]) {
    if (given) open.add('alice a');
    else open.delete('alice a');
    change('a');
    expect(rights.mayEnter(alice, asClusterId('a'))).toBe(given);
  }
});

test('keeps its answers when another workspace changes', () => {
  const { asked, rights, change } = stage();
  rights.mayEnter(alice, asClusterId('a'));
  change('b');
  rights.mayEnter(alice, asClusterId('a'));
  expect(asked).toEqual(['alice a']);
});

test('distinguishes users of the same name', () => {
  const { open, rights } = stage();
  open.add('alice a');
  expect(rights.mayEnter(alice, asClusterId('a'))).toBe(true);
  open.delete('alice a');
  expect(rights.mayEnter({ ...alice }, asClusterId('a'))).toBe(false);
});
