import { type JsonObject, type KubeObject, whole } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtinCatalog } from '../../registry/catalog.ts';
import { startTestServer, type TestServer } from '../../testing/harness.ts';
import { type ExpressionWarning, typeWarnings } from './type-check.ts';

const catalog = builtinCatalog();
const warningsOf = (...given: Parameters<typeof typeWarnings>): ExpressionWarning[] => whole(typeWarnings(...given));

function policy(spec: JsonObject, resources = ['deployments']): KubeObject {
  const resourceRules = [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources }];
  const body = { matchConstraints: { resourceRules }, ...spec };
  return { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', metadata: { name: 'p' }, spec: body };
}

const check = (expression: string, more: JsonObject = {}): JsonObject => ({ validations: [{ expression, ...more }] });

describe('type checking of a policy', () => {
  it.each([
    ['valid expressions', check('object.spec.replicas > 1')],
    ['optional fields', check('has(object.metadata.labels) && object.metadata.labels.exists(k, k == "a")')],
    [
      'quantities, whose type is only known at runtime',
      check('object.spec.template.spec.containers.all(c, c.resources.limits.cpu != "1")'),
    ],
    [
      'unknown resources',
      {
        ...check('object.nope'),
        matchConstraints: { resourceRules: [{ apiGroups: ['x.io'], apiVersions: ['v1'], resources: ['nopes'] }] },
      },
    ],
    [
      'rules with wildcards',
      { ...check('object.nope'), matchConstraints: { resourceRules: [{ apiGroups: ['*'], apiVersions: ['v1'], resources: ['pods'] }] } },
    ],
  ])('does not warn about %s', (_, spec) => {
    expect(warningsOf(policy(spec), catalog)).toEqual([]);
  });

  it('warns about operands that cannot be compared, in an expression or its message', () => {
    const spec = check("object.spec.replicas > '1'", { messageExpression: "'got ' + object.spec.replicas" });
    expect(warningsOf(policy(spec), catalog)).toEqual([
      {
        fieldRef: 'spec.validations[0].expression',
        warning:
          "apps/v1, Kind=Deployment: compilation failed: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n",
      },
      { fieldRef: 'spec.validations[0].messageExpression', warning: expect.stringContaining("'_+_' applied to '(string, int)'") },
    ]);
  });

  it('warns about a missing field, for each kind without the field', () => {
    const found = warningsOf(
      policy(check('object.spec.updateStrategy.type == "x"'), ['deployments', 'daemonsets', 'statefulsets']),
      catalog,
    );
    expect(found).toHaveLength(1);
    expect(found[0]?.warning).toMatch(/^apps\/v1, Kind=Deployment: .*undefined field 'updateStrategy'/);
  });

  it('infers the types of variables and parameters', () => {
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      variables: [{ name: 'count', expression: 'object.spec.replicas' }],
      validations: [{ expression: "variables.count == 'a'" }, { expression: 'params.data == 1' }],
    };
    expect(warningsOf(policy(spec), catalog).map(({ fieldRef }) => fieldRef)).toEqual([
      'spec.validations[0].expression',
      'spec.validations[1].expression',
    ]);
  });

  it('terminates for recursive kinds', () => {
    const resourceRules = [{ apiGroups: ['apiextensions.k8s.io'], apiVersions: ['v1'], resources: ['customresourcedefinitions'] }];
    expect(warningsOf(policy({ ...check("object.spec.group == 'a'"), matchConstraints: { resourceRules } }), catalog)).toEqual([]);
  });
});

describe('the status of a policy', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('contains the warnings for the observed generation', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
    const { metadata } = (await server.call(path, { method: 'POST', body: policy(check('object.spec.replicas > "1"')) })).json();
    const events = await server.watch(`${path}?watch=1&resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dp`, 1);
    expect(events[0]?.object['status']).toMatchObject({
      observedGeneration: 1,
      typeChecking: { expressionWarnings: [{ fieldRef: 'spec.validations[0].expression' }] },
    });
  });
});
