import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

const apiVersion = 'admissionregistration.k8s.io/v1beta1';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
let server: TestServer;

const resourceRules = [{ apiGroups: ['none.example.com'], apiVersions: ['v1'], resources: ['nones'], operations: ['CREATE'] }];
const sorts = [
  {
    sort: 'validating',
    path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic',
    policy: { validations: [{ expression: 'true' }] },
    binding: { validationActions: ['Deny'] },
  },
  {
    sort: 'mutating',
    path: `/apis/${apiVersion}/mutatingadmissionpolic`,
    policy: { reinvocationPolicy: 'Never', mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{}]' } }] },
    binding: {},
  },
];
const jane = { 'impersonate-user': 'jane', 'impersonate-group': 'devs' };
const who = '&{jane  [devs system:authenticated] map[]}';

async function make(path: string, name: string, spec: JsonObject, headers = {}): Promise<Reply> {
  return server.call(path, { method: 'POST', headers, body: { metadata: { name }, spec } });
}

async function grant(name: string, rules: JsonObject[]): Promise<void> {
  await server.call(`${rbac}/clusterroles`, { method: 'POST', body: { metadata: { name }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }];
  await server.call(`${rbac}/clusterrolebindings`, { method: 'POST', body: { metadata: { name }, roleRef, subjects } });
}

beforeAll(async () => {
  server = await startTestServer({ optionalVersions: [apiVersion] });
  await grant('policies', [{ apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] }]);
  await grant('config', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }]);
});

afterAll(() => server[Symbol.asyncDispose]());

describe.each(sorts)('the writer of a $sort policy', ({ path, policy, binding }) => {
  const policyOf = (name: string, paramKind: JsonObject, headers = {}): Promise<Reply> =>
    make(`${path}ies`, name, { paramKind, matchConstraints: { resourceRules }, ...policy }, headers);
  const bind = (policyName: string, paramRef: JsonObject, headers = {}): Promise<Reply> =>
    make(`${path}ybindings`, 'b', { policyName, paramRef: { parameterNotFoundAction: 'Deny', ...paramRef }, ...binding }, headers);

  it('must have read access to all objects of the paramKind', async () => {
    const refused = await policyOf('secret', { apiVersion: 'v1', kind: 'Secret' }, jane);
    expect([refused.code, refused.json().message]).toEqual([
      422,
      expect.stringMatching(
        /"secret" is invalid: spec.paramKind: Forbidden: user &\{jane {2}\[devs system:authenticated\] map\[\]\} must have "get" permission on all objects of the referenced paramKind \(kind=Secret, apiVersion=v1\)$/,
      ),
    ]);
    expect((await policyOf('config', { apiVersion: 'v1', kind: 'ConfigMap' }, jane)).code).toBe(201);
  });

  it('needs no access if the paramKind does not change', async () => {
    await policyOf('kept', { apiVersion: 'v1', kind: 'Secret' });
    const headers = { ...jane, 'content-type': 'application/merge-patch+json' };
    const reply = await server.call(`${path}ies/kept`, { method: 'PATCH', headers, body: { spec: { failurePolicy: 'Ignore' } } });
    expect(reply.code).toBe(200);
  });

  it('must have read access to the objects that a binding refers to', async () => {
    await policyOf('unknown', { apiVersion: 'nope.example.com/v1', kind: 'Nope' });
    const why = async (policyName: string, paramRef: JsonObject): Promise<string> =>
      (await bind(policyName, paramRef, jane)).json().message!.replace(/^.* is invalid: /, '');
    expect(await why('kept', { name: 'p', namespace: 'n' })).toBe(
      `spec.paramRef: Forbidden: user ${who} does not have "get" permission on the object referenced by paramRef`,
    );
    const everywhere = `to determine minimum required permissions and user ${who} does not have "list" permission for all groups, versions and resources`;
    expect(await why('nope', { selector: {} })).toBe(`spec.paramRef: Forbidden: unable to get policy nope ${everywhere}`);
    expect(await why('unknown', { selector: {} })).toBe(
      `spec.paramRef: Forbidden: unable to resolve paramKind &{nope.example.com/v1 Nope} ${everywhere}`,
    );
    expect((await bind('config', { selector: {} }, jane)).code).toBe(201);
  });
});
