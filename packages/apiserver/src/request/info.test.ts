import { describe, expect, test } from 'vitest';
import { parseRequest } from './info.ts';
import { MalformedUrl } from './malformed-url.ts';

describe('a method and a path', () => {
  test.each([
    [
      'GET',
      '/api/v1/namespaces/x/configmaps/a',
      { verb: 'get', group: '', version: 'v1', namespace: 'x', resource: 'configmaps', name: 'a' },
    ],
    ['GET', '/api/v1/configmaps', { verb: 'list', namespace: '', resource: 'configmaps', name: '' }],
    ['GET', '/api/v1/namespaces/x/configmaps?watch=true', { verb: 'watch', namespace: 'x' }],
    ['GET', '/api/v1/watch/namespaces/x/configmaps', { verb: 'watch', namespace: 'x', resource: 'configmaps' }],
    ['GET', '/api/v1/namespaces', { verb: 'list', resource: 'namespaces', name: '' }],
    ['GET', '/api/v1/namespaces/x', { verb: 'get', resource: 'namespaces', name: 'x', namespace: 'x' }],
    ['PUT', '/api/v1/namespaces/x/finalize', { verb: 'update', resource: 'namespaces', name: 'x', subresource: 'finalize' }],
    [
      'PATCH',
      '/apis/apps/v1/namespaces/x/deployments/web/status',
      { verb: 'patch', group: 'apps', resource: 'deployments', subresource: 'status' },
    ],
    ['DELETE', '/apis/apps/v1/namespaces/x/deployments', { verb: 'deletecollection' }],
    ['GET', '/api/v1/namespaces/x/configmaps?fieldSelector=metadata.name%3Da', { verb: 'list', name: 'a' }],
    [
      'GET',
      '/clusters/root:org/api/v1/configmaps',
      { place: { kind: 'workspace', path: 'root:org' }, cluster: '', verb: 'list', resource: 'configmaps' },
    ],
    ['GET', '/version', { isResource: false, verb: 'get', path: '/version' }],
    ['GET', '/apis/apps', { isResource: false, apiPrefix: 'apis' }],
  ])('%s %s', (method, url, expected) => {
    expect(parseRequest(method, url)).toMatchObject(expected);
  });

  test('an invalid escape is rejected in a path and ignored in a parameter', () => {
    expect(() => parseRequest('GET', '/api/v1/namespaces/%zz/configmaps')).toThrow(MalformedUrl);
    expect(parseRequest('GET', '/api/v1/configmaps?labelSelector=%zz&limit=1').query.get('labelSelector')).toBeNull();
  });

  test('an escaped slash does not start a new segment', () => {
    expect(parseRequest('GET', '/api/v1/namespaces/x/configmaps/a%2Fb')).toMatchObject({ name: 'a/b', subresource: '' });
  });
});
