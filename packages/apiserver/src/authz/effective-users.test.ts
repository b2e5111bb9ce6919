import type { User } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectiveUsers } from './effective-users.ts';

const scopes = 'authentication.kcp.io/scopes';
const warrants = 'authorization.kcp.io/warrant';
const home = 'authentication.kcp.io/cluster-name';
const names = (user: User, cluster: string): string[] => effectiveUsers(user, cluster).map(({ name }) => name);

describe('a user in a workspace', () => {
  it('is the same everywhere by default', () => {
    const jane = { name: 'jane', groups: ['devs'] };
    expect(effectiveUsers(jane, 'aaaa')).toEqual([jane]);
  });

  it.each([
    [['cluster:aaaa'], ['jane']],
    [['cluster:bbbb,cluster:aaaa'], ['jane']],
    [['cluster:bbbb'], ['system:anonymous']],
    [['cluster:aaaa', 'cluster:bbbb'], ['system:anonymous']],
    [[''], ['system:anonymous']],
    [['cluster:*'], ['system:anonymous']],
  ])('with the scopes %j is %j', (values, expected) => {
    expect(names({ name: 'jane', groups: ['devs'], extra: { [scopes]: values } }, 'aaaa')).toEqual(expected);
  });

  it('loses all groups outside of the scopes', () => {
    const jane = { name: 'jane', groups: ['system:kcp:admin'], extra: { [scopes]: ['cluster:bbbb'] } };
    expect(effectiveUsers(jane, 'aaaa')).toEqual([{ name: 'system:anonymous', groups: ['system:authenticated', 'system:cluster:bbbb'] }]);
  });

  it('also has the permissions of the users in its warrants, within their scopes', () => {
    const warrant = JSON.stringify({ user: 'joe', groups: ['ops'], extra: { [scopes]: ['cluster:aaaa'] } });
    const jane = { name: 'jane', groups: [], extra: { [scopes]: ['cluster:bbbb'], [warrants]: [warrant] } };
    expect(names(jane, 'aaaa')).toEqual(['system:anonymous', 'joe']);
    expect(names(jane, 'bbbb')).toEqual(['jane', 'system:anonymous']);
  });

  it('is compared with a bounded number of others, however many warrants it has', () => {
    const warrant = (index: number): string =>
      JSON.stringify({ user: `user-${index}`, extra: { [warrants]: many(10, (one) => leaf(one)) } });
    const leaf = (index: number): string => JSON.stringify({ user: `leaf-${index}` });
    const many = (count: number, make: (index: number) => string): string[] => Array.from({ length: count }, (_, index) => make(index));
    const jane = { name: 'jane', groups: [], extra: { [warrants]: many(1_000, warrant) } };
    expect(names(jane, 'aaaa')).toHaveLength(32);
    expect(names(jane, 'aaaa').slice(0, 3)).toEqual(['jane', 'user-0', 'leaf-0']);
  });

  it('keeps the groups of the workspaces that all of its scopes name, however long they are', () => {
    // Compared one by one, these would take minutes.
    const long = (start: number): string => Array.from({ length: 100_000 }, (_, index) => `cluster:c${start + index}`).join(',');
    const [user] = effectiveUsers({ name: 'jane', groups: [], extra: { [scopes]: [long(0), long(99_999)] } }, 'aaaa');
    expect(user).toEqual({ name: 'system:anonymous', groups: ['system:authenticated', 'system:cluster:c99999'] });
  });

  it('has another name if it is a service account of another workspace', () => {
    const robot = { name: 'system:serviceaccount:default:robot', groups: ['system:serviceaccounts'], extra: { [home]: ['aaaa'] } };
    expect(names(robot, 'aaaa')).toEqual(['system:serviceaccount:default:robot']);
    expect(effectiveUsers(robot, 'bbbb')).toEqual([
      { name: 'system:kcp:serviceaccount:aaaa:default:robot', groups: ['system:authenticated', 'system:cluster:aaaa'] },
    ]);
  });

  it('gains nothing from invalid warrants, or from warrants nested too deeply', () => {
    const nested = (depth: number): string =>
      JSON.stringify({ user: `u${depth}`, groups: [], ...(depth < 9 && { extra: { [warrants]: [nested(depth + 1)] } }) });
    expect(names({ name: 'jane', groups: [], extra: { [warrants]: [nested(0)] } }, 'aaaa').length).toBe(6);
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const { name } of effectiveUsers({ name: 'jane', groups: [], extra: { [warrants]: [text] } }, 'aaaa'))
          expect(name).toBe('jane');
      }),
    );
  });
});
