import { describe, expect, test } from 'vitest';
import { parseCollection } from './collection.ts';
import { parseMessage } from './messages.ts';

describe('a message of a page', () => {
  test.each([
    [
      { add: 'a', path: '/api/v1/pods' },
      { type: 'follow', key: 'a', selection: { path: '/api/v1/pods' } },
    ],
    [{ add: 'a', path: '/api/v1/pods', selector: 'x=y' }, { selection: { path: '/api/v1/pods', labels: 'x=y' } }],
    [{ add: 'a', path: '/api/v1/pods', selector: { labels: 'x', fields: 'y=z' } }, { selection: { labels: 'x', fields: 'y=z' } }],
    [
      { add: 'a', path: '/api/v1/pods?labelSelector=x%3Dy&fieldSelector=z' },
      { selection: { path: '/api/v1/pods', labels: 'x=y', fields: 'z' } },
    ],
    [
      { add: 'a', sample: '/kube/version', seconds: 9 },
      { type: 'sample', sampling: { address: '/kube/version', seconds: 9 } },
    ],
    [{ add: 'a', sample: '/rest/api/v1', seconds: 0.001 }, { sampling: { seconds: 2 } }],
    [{ remove: 'a' }, { type: 'remove', key: 'a' }],
  ])('%j is understood', (message, expected) => {
    expect(parseMessage(JSON.stringify(message))).toMatchObject(expected);
  });

  test.each([
    ['no json', 'JSON'],
    ['[]', 'object'],
    ['{}', 'key'],
    ['{"add": 1, "path": "/api/v1/pods"}', 'key'],
    [JSON.stringify({ add: 'x'.repeat(5_000), path: '/a' }), 'key'],
    ['{"add": "a"}', 'expected "path"'],
    ['{"add": "a", "sample": "http://evil.example/"}', 'below /kube or /rest'],
    ['{"add": "a", "sample": "/session"}', 'below /kube or /rest'],
    ['{"add": "a", "sample": "/kube/x", "seconds": "often"}', 'seconds'],
    [JSON.stringify({ add: 'a', path: '/api/v1/pods', selector: 'x'.repeat(5_000) }), 'at most'],
  ])('%s is refused', (text, message) => {
    expect(() => parseMessage(text)).toThrow(message);
  });
});

describe('a path', () => {
  const type = (group: string, version: string, resource: string, namespaced: boolean) => ({ group, version, resource, namespaced });
  test.each([
    ['/api/v1/namespaces', { prefix: '', type: type('', 'v1', 'namespaces', false), namespace: undefined }],
    ['/api/v1/namespaces/a/pods', { prefix: '', type: type('', 'v1', 'pods', true), namespace: 'a' }],
    ['/clusters/root:a/apis/apps/v1/deployments', { prefix: '/clusters/root:a', type: type('apps', 'v1', 'deployments', false) }],
    ['/clusters/root%3Aa/api/v1/pods', { prefix: '/clusters/root:a' }],
    ['/clusters/*/api/v1/pods', { prefix: '/clusters/*' }],
    ['/clusters/api/api/v1/pods', { prefix: '/clusters/api', type: type('', 'v1', 'pods', false) }],
    ['/services/apiexport/root:x/y/clusters/*/apis/g.io/v1alpha1/things', { prefix: '/services/apiexport/root:x/y/clusters/*' }],
  ])('%s is that of a collection', (path, expected) => {
    expect(parseCollection(path)).toMatchObject(expected);
  });

  test.each([
    '',
    '/',
    '/version',
    '/api/v1',
    '/api/v1/namespaces/a',
    '/api/v1/namespaces/a/pods/b',
    '/../api/v1/pods',
    '/clusters/../api/v1/pods',
    '/a%2fb/api/v1/pods',
    'http://evil.example/api/v1/pods',
    '//evil.example/api/v1/pods',
  ])('%s is not', (path) => {
    expect(parseCollection(path)).toBeUndefined();
  });
});
