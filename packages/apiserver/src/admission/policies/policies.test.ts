import type { JsonObject } from '@capstan/machinery';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

const registration = '/apis/admissionregistration.k8s.io/v1';
const configMaps = '/api/v1/namespaces/test/configmaps';
let server: TestServer;

const post = (path: string, body: unknown): Promise<Reply> => server.call(path, { method: 'POST', body });

beforeAll(async () => {
  server = await startTestServer();
  await post('/api/v1/namespaces', { metadata: { name: 'test', labels: { stage: 'live' } } });
  await post(configMaps, { metadata: { name: 'limits', labels: { limits: 'yes' } }, data: { most: '3' } });
  await post(configMaps, { metadata: { name: 'wider-limits', labels: { limits: 'yes' } }, data: { most: '5' } });
});

afterAll(() => server[Symbol.asyncDispose]());

afterEach(async () => {
  await server.call(`${registration}/validatingadmissionpolicybindings`, { method: 'DELETE' });
  await server.call(`${registration}/validatingadmissionpolicies`, { method: 'DELETE' });
});

const secrets = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['secrets'] }];

function policy(spec: JsonObject, query = ''): Promise<Reply> {
  const body = { metadata: { name: 'rule' }, spec: { matchConstraints: { resourceRules: secrets }, ...spec } };
  return post(`${registration}/validatingadmissionpolicies${query}`, body);
}

async function enforce(spec: JsonObject, binding: JsonObject = {}): Promise<void> {
  const made = await policy(spec);
  if (made.code !== 201) throw new Error(made.text);
  const body = { metadata: { name: 'bound' }, spec: { policyName: 'rule', validationActions: ['Deny'], ...binding } };
  const bound = await post(`${registration}/validatingadmissionpolicybindings`, body);
  if (bound.code !== 201) throw new Error(bound.text);
}

const check = (expression: string, more: JsonObject = {}): JsonObject => ({ validations: [{ expression, ...more }] });

const create = (data: Record<string, string> = { a: '1' }): Promise<Reply> =>
  post('/api/v1/namespaces/test/secrets?dryRun=All', { metadata: { name: 's' }, stringData: data });

const denied = (why: string): string =>
  `secrets "s" is forbidden: ValidatingAdmissionPolicy 'rule' with binding 'bound' denied request: ${why}`;

describe('a validation', () => {
  it.each([
    ['the expression if it has no message', {}, "failed expression: object.type == 'x'"],
    ['its message', { message: '  must be x ' }, 'must be x'],
    ['the result of its message expression', { messageExpression: "'got ' + object.type + '.'", message: 'm' }, 'got Opaque.'],
    ['its message if the message expression fails', { messageExpression: "'a' + object.nope", message: 'm' }, 'm'],
    ['its message if the message expression returns several lines', { messageExpression: "'a\\nb'", message: 'm' }, 'm'],
  ])('that fails is reported with %s', async (_, more, why) => {
    await enforce(check("object.type == 'x'", more));
    const reply = await create();
    expect([reply.code, reply.json().reason, reply.json().message]).toEqual([422, 'Invalid', denied(why)]);
    expect(reply.json()['details']).toEqual({
      name: 's',
      kind: 'secrets',
      causes: [{ message: denied(why).slice('secrets "s" is forbidden: '.length) }],
    });
  });

  it.each([
    ['Forbidden', 403],
    ['RequestEntityTooLarge', 413],
  ])('may set the reason %s', async (reason, code) => {
    await enforce(check('false', { reason }));
    const reply = await create();
    expect([reply.code, reply.json().reason]).toEqual([code, reason]);
  });

  it('that succeeds admits the request', async () => {
    await enforce(check("object.metadata.name == 's' && oldObject == null && request.operation == 'CREATE'"));
    expect((await create()).code).toBe(201);
  });

  it('that cannot be evaluated rejects the request, or is ignored if the failure policy says so', async () => {
    const failing = check('object.nope == 1');
    await enforce(failing);
    expect((await create()).json().message).toBe(denied("expression 'object.nope == 1' resulted in error: no such key: nope"));
    await server.call(`${registration}/validatingadmissionpolicies/rule`, { method: 'DELETE' });
    await policy({ ...failing, failurePolicy: 'Ignore' });
    expect((await create()).code).toBe(201);
  });

  it('that costs too much is cancelled', async () => {
    const all = (inner: string, name: string): string => `[1,2,3,4,5,6,7,8,9,10].all(${name}, ${inner})`;
    await enforce(check('abcdefgh'.split('').reduce(all, '1 == 1')));
    expect((await create()).json().message).toContain('resulted in error: operation cancelled: actual cost limit exceeded');
  });
});

describe('an expression of a policy can use', () => {
  it.each([
    ['the request', "request.userInfo.groups.exists(g, g == 'system:masters') && request.dryRun && !has(request.subResource)"],
    ['the namespace', "namespaceObject.metadata.labels.stage == 'live' && namespaceObject.status.phase == 'Active'"],
    ['the permissions of the user', "authorizer.group('').resource('pods').namespace('test').check('create').allowed()"],
    [
      'the permissions of service accounts',
      "!authorizer.serviceAccount('test', 'default').group('').resource('pods').check('create').allowed()",
    ],
    ['permissions on the requested resource', "authorizer.requestResource.check('delete').allowed()"],
  ])('%s', async (_, expression) => {
    await enforce(check(`!(${expression})`, { message: 'known' }));
    expect((await create()).json().message).toBe(denied('known'));
  });

  it('variables, which are evaluated when used', async () => {
    await enforce({
      variables: [
        { name: 'kind', expression: "object.type + '!'" },
        { name: 'loud', expression: "variables.kind + '!'" },
        { name: 'unused', expression: 'object.nope.nope' },
        { name: 'nothing', expression: 'null' },
      ],
      ...check('variables.nothing != null', { messageExpression: 'variables.loud' }),
    });
    expect((await create()).json().message).toBe(denied('Opaque!!'));
  });
});

describe('parameters', () => {
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
  const limited = {
    paramKind,
    ...check('size(object.metadata.name) >= int(params.data.most)', { messageExpression: "'at least ' + params.data.most" }),
  };

  it('are found by name, in the namespace of the request', async () => {
    await enforce(limited, { paramRef: { name: 'limits', parameterNotFoundAction: 'Deny' } });
    expect((await create()).json().message).toBe(denied('at least 3'));
  });

  it('are found by label, and the policy is evaluated for each', async () => {
    await enforce(
      { paramKind, ...check("params.metadata.name != 'wider-limits'", { message: 'wider' }) },
      { paramRef: { namespace: 'test', selector: { matchLabels: { limits: 'yes' } }, parameterNotFoundAction: 'Deny' } },
    );
    expect((await create()).json().message).toBe(denied('wider'));
  });

  it.each([
    ['Deny', 422],
    ['Allow', 201],
  ])('that do not exist lead to parameterNotFoundAction %s', async (parameterNotFoundAction, code) => {
    await enforce(limited, { paramRef: { name: 'nope', parameterNotFoundAction } });
    const reply = await create();
    expect(reply.code).toBe(code);
    if (code === 422) {
      const why = 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
      expect(reply.json().message).toBe(denied(why));
    }
  });

  it('of an unknown kind make the policy unusable', async () => {
    await enforce(
      { ...limited, paramKind: { apiVersion: 'nope.io/v1', kind: 'Nope' } },
      { paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } },
    );
    expect((await create()).json().message).toBe(
      `secrets "s" is forbidden: ValidatingAdmissionPolicy 'rule' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'nope.io/v1, Kind=Nope'`,
    );
  });
});

describe('a policy', () => {
  const never = check('false');
  it.each([
    ['its conditions are met', { matchConditions: [{ name: 'c', expression: "object.type == 'Opaque'" }] }, {}, 422],
    ['its conditions are not met', { matchConditions: [{ name: 'c', expression: "object.type == 'x'" }] }, {}, 201],
    [
      'its constraints exclude the object',
      { matchConstraints: { resourceRules: secrets, excludeResourceRules: [{ ...secrets[0]!, resourceNames: ['s'] }] } },
      {},
      201,
    ],
    ['its constraints name the object', { matchConstraints: { resourceRules: [{ ...secrets[0]!, resourceNames: ['s'] }] } }, {}, 422],
    ['its binding selects the namespace', {}, { matchResources: { namespaceSelector: { matchLabels: { stage: 'live' } } } }, 422],
    ['its binding selects other namespaces', {}, { matchResources: { namespaceSelector: { matchLabels: { stage: 'test' } } } }, 201],
    ['its binding is for another policy', {}, { policyName: 'another' }, 201],
  ])('applies only if it matches: %s', async (_, spec, binding, code) => {
    await enforce({ ...never, ...spec } as JsonObject, binding);
    expect((await create()).code).toBe(code);
  });

  it('never applies to access reviews', async () => {
    await enforce({
      ...never,
      matchConstraints: { resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] },
    });
    const spec = { resourceAttributes: { verb: 'get', resource: 'pods' } };
    expect((await post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec })).code).toBe(201);
  });

  it('only warns if the binding says so', async () => {
    await enforce(check('false', { message: 'take care' }), { validationActions: ['Warn', 'Audit'] });
    const reply = await create();
    expect([reply.code, reply.headers['warning']]).toEqual([
      201,
      `299 - "Validation failed for ValidatingAdmissionPolicy 'rule' with binding 'bound': take care"`,
    ]);
  });
});

describe('an invalid expression is rejected in', () => {
  it.each([
    [
      'a validation',
      check('object.'),
      'spec.validations[0].expression',
      "compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'",
    ],
    ['a validation of another type', check("'x'"), 'spec.validations[0].expression', 'must evaluate to bool but got string'],
    [
      'a message',
      check('true', { messageExpression: '1' }),
      'spec.validations[0].messageExpression',
      'must evaluate to string but got int',
    ],
    [
      'a variable',
      { ...check('true'), variables: [{ name: 'a', expression: 'variables.b' }] },
      'spec.variables[0].expression',
      "compilation failed: ERROR: <input>:1:10: undefined field 'b'",
    ],
    [
      'a condition',
      { ...check('true'), matchConditions: [{ name: 'a', expression: 'params == null' }] },
      'spec.matchConditions[0].expression',
      "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'",
    ],
    [
      'an annotation',
      { auditAnnotations: [{ key: 'k', valueExpression: '1' }] },
      'spec.auditAnnotations[0].valueExpression',
      'must evaluate to one of [string null_type] but got int',
    ],
  ])('%s', async (_, spec, field, why) => {
    const reply = await policy(spec, '?dryRun=All');
    expect(reply.code).toBe(422);
    const [cause] = (reply.json()['details'] as { causes: { field: string; message: string }[] }).causes;
    expect(cause?.field).toBe(field);
    expect(cause?.message).toContain(why);
  });
});
