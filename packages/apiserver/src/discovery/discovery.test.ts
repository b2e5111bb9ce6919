import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const protobuf = 'application/vnd.kubernetes.protobuf';
const aggregated = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const older = 'g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
const get = (path: string, accept: string, method = 'GET') => server.call(path, { method, headers: { accept } });

describe('discovery documents', () => {
  test.each([
    ['/api', protobuf, protobuf, 'APIVersions'],
    ['/apis', protobuf, protobuf, 'APIGroupList'],
    ['/apis/apps', protobuf, protobuf, 'APIGroup'],
    ['/apis/apps/v1', protobuf, protobuf, 'APIResourceList'],
    ['/api', `${protobuf};${aggregated}`, `${protobuf};${aggregated}`, 'APIGroupDiscoveryList'],
    ['/apis', `*/*;${aggregated}`, `application/json;${aggregated}`, 'APIGroupDiscoveryList'],
    ['/apis', `application/yaml;${aggregated}`, `application/yaml;${aggregated}`, 'APIGroupDiscoveryList'],
    ['/apis', `application/json;${older},application/json`, `application/json;${older}`, 'apidiscovery.k8s.io/v2beta1'],
    ['/apis', `application/json;${aggregated},application/json;${older}`, `application/json;${aggregated}`, 'apidiscovery.k8s.io/v2"'],
    ['/apis/apps', 'application/*', 'application/json', 'APIGroup'],
    ['/api/v1', `application/json;${aggregated},application/json`, 'application/json', 'APIResourceList'],
    ['/api/v1', 'application/yaml', 'application/yaml', 'kind: APIResourceList'],
  ])('are served at %s for Accept %s, as %s', async (path, accept, type, text) => {
    const reply = await get(path, accept);
    expect([reply.code, reply.headers['content-type']]).toEqual([200, type]);
    expect(reply.text).toContain(text);
  });

  const named = '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf';
  const only = 'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';
  test.each([
    ['/api', 'application/*', named],
    ['/api/v1', 'text/plain', named],
    ['/apis', 'text/plain', only],
    ['/apis/apps', `application/json;${aggregated}`, only],
    ['/api', 'application/json;g=apidiscovery.k8s.io;v=v1;as=APIGroupDiscoveryList', only],
    ['/version', 'text/plain', '406: Not Acceptable\n\nAvailable representations: application/json'],
    ['/openid/v1/jwks', 'application/json', '406: Not Acceptable\n\nAvailable representations: application/jwk-set+json'],
  ])('are not served at %s for Accept %s', async (path, accept, message) => {
    const reply = await get(path, accept);
    expect([reply.code, reply.json().message]).toEqual([406, message]);
  });

  test('have an ETag per format of the same document', async () => {
    const ask = async (accept: string, known = '') => server.call('/apis', { headers: { accept, 'if-none-match': known } });
    const [json, packed] = await Promise.all([ask(`application/json;${aggregated}`), ask(`${protobuf};${aggregated}`)]);
    expect((await ask(`${protobuf};${aggregated}`, String(json.headers['etag']))).code).toBe(200);
    expect((await ask(`${protobuf};${aggregated}`, String(packed.headers['etag']))).code).toBe(304);
  });

  test('are served to any method at group level, and only to GET elsewhere', async () => {
    expect((await get('/apis', '*/*', 'POST')).code).toBe(200);
    expect((await get('/api', '*/*', 'POST')).code).toBe(405);
    expect((await get('/api', '*/*', 'HEAD')).code).toBe(405);
  });
});

describe('resources', () => {
  const configMaps = '/api/v1/namespaces/default/configmaps';
  const streams = ', application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';
  test.each([
    [configMaps, 'application/*', `application/json, application/yaml, application/vnd.kubernetes.protobuf${streams}`],
    [`${configMaps}/none`, 'application/*', 'application/json, application/yaml, application/vnd.kubernetes.protobuf'],
  ])('at %s are not served for Accept %s', async (path, accept, offered) => {
    const reply = await get(path, accept);
    expect([reply.code, reply.json().message]).toEqual([406, `406: Not Acceptable\n\nAvailable representations: ${offered}`]);
  });

  test('cannot be watched as YAML', async () => {
    const reply = await get(`${configMaps}?watch=1`, 'application/yaml, application/json');
    expect(reply.code).toBe(406);
    expect(reply.text).toContain('application/json;stream=watch');
  });
});
