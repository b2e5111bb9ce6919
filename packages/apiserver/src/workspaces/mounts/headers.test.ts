import { describe, expect, it } from 'vitest';
import { clusterExtra } from '../../authn/service-account.ts';
import { scopesExtra, warrantsExtra } from '../../authz/effective-users.ts';
import { CannotBeTold, handedBack, identityOf, passedOn } from './headers.ts';

describe('headers of a request', () => {
  it('are forwarded, except for identity and connection headers', () => {
    const passed = passedOn([
      ...['Accept', 'application/json', 'X-Remote-User', 'admin', 'x-remote-group', 'system:masters', 'X-REMOTE-EXTRA-a', 'b'],
      ...['X_Remote_User', 'admin', 'X-Remote_Group', 'x', 'Authorization', 'Bearer t', 'Cookie', 'c', 'Host', 'h', ':path', '/'],
      ...['Connection', 'close, X-Secret', 'X-Secret', 's', 'Transfer-Encoding', 'chunked', 'Upgrade', 'websocket', 'Content-Length', '7'],
      ...['X-Forwarded-For', '1.1.1.1', 'X-Kcp-Internal-Deep-SubjectAccessReview', 'true', 'Via', '1.1 capstan'],
      ...['Impersonate-User', 'joe', 'Accept', 'text/plain'],
    ]);
    expect(passed).toEqual(['accept', 'application/json', 'impersonate-user', 'joe', 'accept', 'text/plain']);
  });

  it('identify the user, without the groups that count only on this server', () => {
    const headers = identityOf({
      name: 'jané',
      uid: 'u',
      groups: ['team', 'system:masters', 'system:kcp:logical-cluster-admin', 'system:authenticated'],
      extra: { 'example.com/a b': ['1', '2'], [warrantsExtra]: ['{"user":"boss"}'] },
    });
    expect(headers).toEqual([
      ...['X-Remote-User', Buffer.from('jané').toString('latin1'), 'X-Remote-Uid', 'u'],
      ...['X-Remote-Group', 'team', 'X-Remote-Group', 'system:authenticated'],
      ...['X-Remote-Extra-example.com%2Fa%20b', '1', 'X-Remote-Extra-example.com%2Fa%20b', '2'],
    ]);
  });

  it('name a service account with its workspace, so that it is not an account of the backend', () => {
    const account = {
      name: 'system:serviceaccount:kube-system:admin',
      groups: ['system:serviceaccounts'],
      extra: { [clusterExtra]: ['abc'] },
    };
    const [, name] = identityOf(account);
    expect(name).toBe('system:kcp:serviceaccount:abc:kube-system:admin');
  });

  it('identify a user confined to a workspace as anonymous', () => {
    expect(identityOf({ name: 'jane', groups: ['team'], extra: { [scopesExtra]: ['cluster:abc'] } }).slice(0, 2)).toEqual([
      'X-Remote-User',
      'system:anonymous',
    ]);
  });

  it.each(['a\r\nX-Remote-Group: system:masters', 'a\0', 'a\u007f'])('are rejected if a name has control characters: %j', (name) => {
    expect(() => identityOf({ name, groups: [] })).toThrow(CannotBeTold);
    expect(() => identityOf({ name: 'jane', groups: [name] })).toThrow(CannotBeTold);
  });
});

it('headers of a response are returned, except for those that the server sets itself', () => {
  expect(handedBack(['Warning', '299 - "w"', 'Content-Type', 'a/b', 'Set-Cookie', 'c', 'Connection', 'close', 'Audit-Id', 'x'])).toEqual([
    ['Warning', '299 - "w"'],
  ]);
});
