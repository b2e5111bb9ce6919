import type { IncomingHttpHeaders } from 'node:http';
import { asClusterId, type User } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import type { Attributes } from './attributes.ts';
import { impersonate } from './impersonation.ts';

const admin: User = { name: 'admin', groups: ['system:masters'] };
const asked: string[] = [];

function attempt(rawHeaders: string[], may: (attributes: Attributes) => boolean = () => true, cluster = 'root'): User {
  asked.length = 0;
  const headers: IncomingHttpHeaders = {};
  for (let index = 0; index < rawHeaders.length; index += 2) headers[rawHeaders[index]!.toLowerCase()] = rawHeaders[index + 1];
  const authorizer = {
    authorize(attributes: Attributes) {
      const { verb, group, resource, subresource, namespace, name } = attributes;
      asked.push([verb, group, resource, subresource, namespace, name].join(' '));
      return { allowed: may(attributes), reason: '' };
    },
  };
  return impersonate({ cluster: asClusterId(cluster), user: admin, headers, rawHeaders, authorizer });
}

describe('impersonation', () => {
  it('leaves requests without Impersonate-* headers alone, whatever other headers they send', () => {
    const spoofed = ['X-Remote-User', 'root', 'X-Remote-Group', 'system:masters', 'X-Remote-Extra-A', 'b', 'Accept', '*/*'];
    expect(attempt(spoofed)).toBe(admin);
    expect(asked).toEqual([]);
  });

  it('changes the user', () => {
    expect(attempt(['Impersonate-User', 'jane'])).toEqual({ name: 'jane', groups: ['system:authenticated'] });
    expect(asked).toEqual(['impersonate  users   jane']);
  });

  it('accepts several groups, and commas in their names', () => {
    expect(attempt(['Impersonate-User', 'jane', 'Impersonate-Group', 'devs', 'impersonate-group', 'a, b']).groups).toEqual([
      'devs',
      'a, b',
      'system:authenticated',
    ]);
    expect(asked).toEqual(['impersonate  users   jane', 'impersonate  groups   devs', 'impersonate  groups   a, b']);
  });

  it.each([
    [['system:authenticated'], ['system:authenticated']],
    [['system:unauthenticated'], ['system:unauthenticated']],
  ])('adds nothing to the groups %j', (groups, expected) => {
    expect(attempt(['Impersonate-User', 'jane', ...groups.flatMap((group) => ['Impersonate-Group', group])]).groups).toEqual(expected);
  });

  it('keeps the anonymous user anonymous', () => {
    expect(attempt(['Impersonate-User', 'system:anonymous']).groups).toEqual(['system:unauthenticated']);
  });

  it('adds the groups of service accounts, and authorizes by account', () => {
    expect(attempt(['Impersonate-User', 'system:serviceaccount:shop:bot'])).toEqual({
      name: 'system:serviceaccount:shop:bot',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
    });
    expect(asked).toEqual(['impersonate  serviceaccounts  shop bot']);
    expect(attempt(['Impersonate-User', 'system:serviceaccount:shop:bot', 'Impersonate-Group', 'devs']).groups).toEqual([
      'devs',
      'system:authenticated',
    ]);
    attempt(['Impersonate-User', 'system:serviceaccount:Not:valid']);
    expect(asked).toEqual(['impersonate  users   system:serviceaccount:Not:valid']);
  });

  it('keeps service accounts in the workspace of the request', () => {
    expect(attempt(['Impersonate-User', 'system:serviceaccount:shop:bot'], undefined, 'tenant').extra).toEqual({
      'authentication.kcp.io/cluster-name': ['tenant'],
    });
  });

  it('sets extra and the uid', () => {
    const raw = [
      'Impersonate-User',
      'jane',
      'Impersonate-Extra-Foo%2fBar',
      'x',
      'Impersonate-Extra-Foo%2FBar',
      'y',
      'Impersonate-Extra-__proto__',
      'z',
      'Impersonate-Uid',
      'u1',
    ];
    const user = attempt(raw);
    expect(user.uid).toBe('u1');
    expect(Object.entries(user.extra!)).toEqual([
      ['foo/bar', ['x', 'y']],
      ['__proto__', ['z']],
    ]);
    expect(asked).toEqual([
      'impersonate  users   jane',
      'impersonate authentication.k8s.io userextras foo/bar  x',
      'impersonate authentication.k8s.io userextras foo/bar  y',
      'impersonate authentication.k8s.io userextras __proto__  z',
      'impersonate authentication.k8s.io uids   u1',
    ]);
  });

  it('is denied as a whole if one part is', () => {
    const noMasters = ({ name }: Attributes): boolean => name !== 'system:masters';
    expect(() => attempt(['Impersonate-User', 'jane', 'Impersonate-Group', 'system:masters'], noMasters)).toThrow(
      'groups "system:masters" is forbidden: User "admin" cannot impersonate resource "groups" in API group "" at the cluster scope',
    );
    const noExtras = ({ resource }: Attributes): boolean => resource !== 'userextras';
    expect(() => attempt(['Impersonate-User', 'jane', 'Impersonate-Extra-a', 'b'], noExtras)).toThrow(
      'userextras.authentication.k8s.io "b" is forbidden: User "admin" cannot impersonate resource "userextras/a" in API group "authentication.k8s.io" at the cluster scope',
    );
  });

  it('without a user is an error', () => {
    expect(() => attempt(['Impersonate-Group', 'devs', 'Impersonate-Extra-Foo', 'x', 'Impersonate-Uid', 'u'])).toThrow(
      'requested [{Group  devs    } {UserExtra  x  authentication.k8s.io/v1  foo} {UID  u  authentication.k8s.io/v1  }] without impersonating a user',
    );
    expect(attempt(['Impersonate-User', ''])).toBe(admin);
  });
});
