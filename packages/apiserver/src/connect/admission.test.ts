import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const pod = '/api/v1/namespaces/default/pods/box';

beforeAll(async () => {
  server = await startTestServer();
  const create = async (path: string, body: object): Promise<void> =>
    expect((await server.call(path, { method: 'POST', body })).code).toBe(201);
  await create('/api/v1/namespaces/default/pods', { metadata: { name: 'box' }, spec: { containers: [{ name: 'a', image: 'x' }] } });
  const group = '/apis/admissionregistration.k8s.io/v1';
  const policy = async (name: string, subresource: string, expression: string): Promise<void> => {
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CONNECT'], resources: [`pods/${subresource}`] };
    const validations = [{ expression, message: `${name} says no` }];
    await create(`${group}/validatingadmissionpolicies`, {
      metadata: { name },
      spec: { matchConstraints: { resourceRules: [rule] }, validations },
    });
    await create(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
  };
  await policy('commands', 'exec', "!('rm' in object.command) && !(has(object.tty) && object.tty) && request.name == 'box'");
  await policy('attaching', 'attach', "has(object.container) && object.container == 'a'");
  await policy('ports', 'portforward', '!(22 in object.ports)');
  await policy('paths', 'proxy', "!object.path.contains('secret')");
});
afterAll(() => server[Symbol.asyncDispose]());

const refused = async (path: string): Promise<string | undefined> => {
  const reply = await server.call(`${pod}/${path}`);
  return reply.code === 422 ? reply.json().message : undefined;
};

describe('policies decide about streams by their options', () => {
  test.each([
    ['exec?command=rm', 'exec?command=ls&command=-l', 'commands says no'],
    ['exec?command=sh&tty=true', 'exec?command=sh&tty=false', 'commands says no'],
    ['attach', 'attach?container=a', 'attaching says no'],
    ['portforward?ports=22', 'portforward?ports=80', 'ports says no'],
    ['proxy/secret', 'proxy/page', 'paths says no'],
  ])('%s, but not %s', async (forbidden, allowed, message) => {
    await vi.waitFor(async () => expect(await refused(forbidden)).toContain(message));
    expect(await refused(allowed)).toBeUndefined();
  });

  test('not about logs, which are reads', async () => {
    expect((await server.call(`${pod}/log`)).code).toBe(204);
  });
});
