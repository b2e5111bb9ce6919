import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const pods = '/api/v1/namespaces/default/pods';
const services = '/api/v1/namespaces/default/services';

beforeAll(async () => {
  server = await startTestServer();
  const create = (path: string, body: object) => server.call(path, { method: 'POST', body });
  const container = (name: string) => ({ name, image: 'x' });
  await create(pods, { metadata: { name: 'waiting' }, spec: { containers: [container('a')] } });
  await create(pods, { metadata: { name: 'placed' }, spec: { nodeName: 'gone', containers: [container('a'), container('b')] } });
  await create(services, { metadata: { name: 'web' }, spec: { ports: [{ name: 'http', port: 80 }] } });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('subresources that need a node respond as far as possible without one', () => {
  test('a pod without a node has no logs', async () => {
    const reply = await server.call(`${pods}/waiting/log`);
    expect(reply.code).toBe(204);
    expect(reply.headers['content-type']).toBeUndefined();
  });

  test.each([
    [`${pods}/none/log`, 404, 'pods "none" not found'],
    [`${pods}/waiting/exec?command=ls`, 400, 'pod waiting does not have a host assigned'],
    [`${pods}/waiting/attach`, 400, 'pod waiting does not have a host assigned'],
    [`${pods}/waiting/portforward`, 400, 'pod waiting does not have a host assigned'],
    [`${pods}/placed/log`, 400, 'a container name must be specified for pod placed, choose one of: [a b]'],
    [`${pods}/placed/exec?container=c`, 400, 'container c is not valid for pod placed'],
    [`${pods}/placed/log?container=a`, 404, 'pods "gone" not found'],
    [`${pods}/waiting/proxy/x`, 400, 'address not allowed'],
    [`${pods}/a:b:c:d/proxy`, 400, 'invalid pod request "a:b:c:d"'],
    ['/api/v1/nodes/none/proxy', 404, 'nodes "none" not found'],
    [`${services}/none:80/proxy`, 404, 'services "none" not found'],
    [`${services}/web:81/proxy`, 503, 'no service port 81 found for service "web"'],
    [`${services}/https:web:http/proxy`, 404, 'services "web" not found'],
  ])('%s: %d %s', async (path, code, message) => {
    const reply = await server.call(path);
    expect([reply.code, reply.json().message]).toEqual([code, message]);
    expect(reply.headers['x-kubernetes-pf-flowschema-uid']).toBeUndefined();
  });

  test.each([
    ['tailLines=-1', 422, 'PodLogOptions "waiting" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'],
    ['limitBytes=0', 422, 'PodLogOptions "waiting" is invalid: limitBytes: Invalid value: 0: must be greater than 0'],
    ['stream=All', 422, 'PodLogOptions "waiting" is invalid: stream: Forbidden: may not be specified'],
    ['tailLines=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    [
      'sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z',
      422,
      'PodLogOptions "waiting" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
    ],
  ])('logs with %s: %d %s', async (query, code, message) => {
    const reply = await server.call(`${pods}/waiting/log?${query}`);
    expect([reply.code, reply.json().message]).toEqual([code, message]);
  });
});
