import { describe, expect, it } from 'vitest';
import { below, type Target, targetOf } from './target.ts';

const own = 'https://capstan.example:6443';
const backends = [{ url: 'https://clusters.example/tenants/' }, { url: 'http://127.0.0.1:8080' }];
const target = (url: string): Target | undefined => targetOf(url, { own, backends });

describe('the target of a mount', () => {
  it.each([
    [`${own}/clusters/root:org:team`, 'root:org:team'],
    [`${own}/clusters/abc123/`, 'abc123'],
    [`${own}/x/../clusters/abc`, 'abc'],
  ])('at %s is a workspace of this server', (url, path) => {
    expect(target(url)).toEqual({ kind: 'here', path });
  });

  it.each(['https://clusters.example/tenants', 'https://clusters.example/tenants/a/clusters/b', 'http://127.0.0.1:8080/x'])(
    'at %s is a configured backend',
    (url) => {
      expect(target(url)).toMatchObject({ kind: 'away', url: new URL(url) });
    },
  );

  it.each([
    '',
    'nonsense',
    '/clusters/root',
    `${own}/`,
    `${own}/metrics`,
    `${own}/clusters/*`,
    `${own}/clusters/a/api/v1`,
    `${own}/services/apiexport/root/x/clusters/*`,
    `${own}/clusters/root?x=y`,
    'https://capstan.example/clusters/root',
    'https://metadata.internal/latest',
    'http://169.254.169.254/latest/meta-data',
    'http://127.0.0.1:8081/x',
    'https://127.0.0.1:8080/x',
    'http://127.0.0.1.evil.example:8080/',
    'http://user:word@127.0.0.1:8080/',
    'http://127.0.0.1:8080/x#y',
    'https://clusters.example/tenants-of-others',
    'https://clusters.example/tenants/../admin',
    'https://clusters.example/tenants/%2e%2e/admin',
    'https://clusters.example/tenants/..%2fadmin',
    'https://clusters.example\\@evil.example/tenants',
    'file:///etc/passwd',
    'unix:///run/docker.sock',
  ])('at %j is not allowed', (url) => {
    expect(target(url)).toBeUndefined();
  });

  it('includes workspaces below a workspace, and nothing below anything else', () => {
    expect(below(target(`${own}/clusters/root:a`)!, ['b', 'c'])).toEqual({ kind: 'here', path: 'root:a:b:c' });
    expect(below(target('http://127.0.0.1:8080/clusters/root:a/')!, ['b'])).toMatchObject({
      url: new URL('http://127.0.0.1:8080/clusters/root:a:b'),
    });
    expect(below(target('http://127.0.0.1:8080/plain')!, ['b'])).toBeUndefined();
    expect(below(target('http://127.0.0.1:8080/plain')!, [])).toMatchObject({ kind: 'away' });
  });
});
