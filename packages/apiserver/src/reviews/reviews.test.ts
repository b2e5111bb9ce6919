import { asClusterId, rootCluster, type User } from '@capstan/api';
import type { KubeObject, StatusError } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { bearerTokens } from '../authn/bearer.ts';
import { Unauthenticated } from '../authn/user.ts';
import type { Attributes } from '../authz/attributes.ts';
import type { MissingRole } from '../authz/resolver.ts';
import type { PolicyRule } from '../authz/rule.ts';
import {
  type AccessReviewContext,
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from './access.ts';
import { selfSubjectReview, tokenReview } from './authentication.ts';

const jane: User = { name: 'jane', groups: ['devs', 'system:authenticated'] };
let asked: Attributes | undefined;
const context = (more: Partial<AccessReviewContext> = {}, rules: PolicyRule[] = [], missing: MissingRole[] = []): AccessReviewContext => ({
  cluster: rootCluster,
  user: jane,
  authorizer: {
    authorize(attributes) {
      asked = attributes;
      return attributes.verb === 'get' ? { allowed: true, reason: 'RBAC: allowed' } : { allowed: false, reason: '' };
    },
    rulesFor: () => ({ rules, missing }),
  },
  ...more,
});

const body = (spec: object | undefined, metadata: object = {}): KubeObject => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: '',
  metadata,
  ...(spec && { spec }),
});

function failure(action: () => unknown): { code?: number; message?: string; details?: object } {
  try {
    action();
    return { message: 'no failure' };
  } catch (error) {
    return (error as StatusError).status;
  }
}

const pods = { verb: 'get', resource: 'pods' };

describe('an access review', () => {
  it('asks the authorizer about the subject with all its attributes', () => {
    const resourceAttributes = { ...pods, namespace: 'shop', group: 'g', version: 'v1', subresource: 'log', name: 'web' };
    const spec = { user: 'joe', groups: ['a'], uid: 'u', extra: { k: ['v'] }, resourceAttributes };
    expect(subjectAccessReview(body(spec), context())).toEqual({
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec,
      status: { allowed: true, reason: 'RBAC: allowed' },
    });
    expect(asked).toEqual({
      cluster: 'root',
      user: { name: 'joe', groups: ['a'], uid: 'u', extra: { k: ['v'] } },
      ...resourceAttributes,
      isResource: true,
      path: '',
    });
  });

  it('asks about the sender if it is a self review', () => {
    expect(selfSubjectAccessReview(body({ resourceAttributes: { ...pods, verb: 'list' } }), context())['status']).toEqual({
      allowed: false,
    });
    expect(asked).toMatchObject({ user: jane, verb: 'list', version: '*' });
  });

  it('asks about non-resource paths', () => {
    selfSubjectAccessReview(body({ nonResourceAttributes: { path: '/metrics', verb: 'get' } }), context());
    expect(asked).toMatchObject({ isResource: false, path: '/metrics', verb: 'get', resource: '' });
  });

  it('looks up service accounts in the workspace of the request', () => {
    subjectAccessReview(
      body({ user: 'system:serviceaccount:shop:bot', resourceAttributes: pods }),
      context({ cluster: asClusterId('tenant') }),
    );
    expect(asked!.user.extra).toEqual({ 'authentication.kcp.io/cluster-name': ['tenant'] });
  });

  it.each<[object | undefined, object, string]>([
    [
      { user: 'jane' },
      {},
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [{ resourceAttributes: pods }, {}, 'spec.user: Invalid value: "": at least one of user or group must be specified'],
    [
      { user: 'jane', resourceAttributes: pods, nonResourceAttributes: { path: '/x', verb: 'get' } },
      {},
      'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [{ user: 'jane', resourceAttributes: pods }, { name: 'x' }, 'metadata: Invalid value: {"name":"x"}: must be empty'],
    [
      {
        user: 'jane',
        resourceAttributes: {
          ...pods,
          fieldSelector: {},
          labelSelector: { rawSelector: 'a', requirements: [{ key: 'a', operator: 'Foo' }] },
        },
      },
      {},
      '[spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required, spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements]',
    ],
    [
      {
        user: 'jane',
        resourceAttributes: {
          ...pods,
          fieldSelector: { requirements: [{ operator: 'In' }, { key: 'x', operator: 'Exists', values: ['a'] }] },
        },
      },
      {},
      "[spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified, spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', spec.resourceAttributes.fieldSelector.requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist']",
    ],
  ])('rejects %j', (spec, metadata, message) => {
    const refused = failure(() => subjectAccessReview(body(spec, metadata), context()));
    expect(refused).toMatchObject({ code: 422, message: `.authorization.k8s.io "" is invalid: ${message}` });
    expect(refused.details).not.toHaveProperty('kind');
  });

  it('accepts managed fields, which the server adds itself', () => {
    expect(subjectAccessReview(body({ user: 'jane', resourceAttributes: pods }, { managedFields: [{}] }), context()).metadata).toEqual({
      managedFields: [{}],
    });
  });

  it.each([
    [{ fieldSelector: { rawSelector: 'metadata.name=a' }, labelSelector: { rawSelector: 'a=b' } }, undefined],
    [
      {
        fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['a', 'b'] }] },
        labelSelector: { rawSelector: 'a===' },
      },
      'spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error',
    ],
    [
      {
        labelSelector: {
          requirements: [
            { key: 'a', operator: 'Exists' },
            { key: 'a', operator: 'Newer' },
          ],
        },
      },
      'spec.resourceAttributes.labelSelector partially ignored due to parse error',
    ],
  ])('with the selectors %j is still answered', (selectors, evaluationError) => {
    const answer = selfSubjectAccessReview(body({ resourceAttributes: { ...pods, ...selectors } }), context());
    expect(answer['status']).toEqual({ allowed: true, reason: 'RBAC: allowed', ...(evaluationError && { evaluationError }) });
  });
});

describe('a local access review', () => {
  const spec = { user: 'jane', resourceAttributes: { ...pods, namespace: 'shop' } };
  const local = (given: object, metadata: object = {}): KubeObject => localSubjectAccessReview(body(given, metadata), 'shop', context());

  it('is answered for its own namespace', () => {
    expect(local(spec)).toMatchObject({ kind: 'LocalSubjectAccessReview', metadata: { namespace: 'shop' }, status: { allowed: true } });
  });

  it('is rejected for other namespaces and for paths', () => {
    expect(failure(() => local(spec, { namespace: 'other' }))).toMatchObject({
      code: 400,
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    });
    expect(failure(() => local({ user: 'jane', resourceAttributes: { ...pods, namespace: 'other' } }, { name: 'q' })).message).toBe(
      '.authorization.k8s.io "" is invalid: [metadata: Invalid value: {"name":"q","namespace":"shop"}: must be empty except for namespace, spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace]',
    );
    expect(failure(() => local({ user: 'jane', nonResourceAttributes: { path: '/x', verb: 'get' } })).message).toContain(
      'disallowed on this kind of request',
    );
  });
});

describe('a rules review', () => {
  it('lists rules for resources and for non-resource paths', () => {
    const rules: PolicyRule[] = [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
      { verbs: ['get'], nonResourceURLs: ['/x'] },
    ];
    expect(selfSubjectRulesReview(body({ namespace: 'shop' }), context({}, rules, [{ kind: 'Role', name: 'gone' }]))).toEqual({
      kind: 'SelfSubjectRulesReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: {},
      status: {
        resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
        incomplete: false,
        evaluationError: 'role.rbac.authorization.k8s.io "gone" not found',
      },
    });
  });

  it('requires a namespace', () => {
    expect(failure(() => selfSubjectRulesReview(body({}), context()))).toMatchObject({ code: 400, message: 'no namespace on request' });
  });
});

describe('authentication reviews', () => {
  it('report the current user', () => {
    expect(selfSubjectReview(jane, new Date('2026-01-02T03:04:05.678Z'))).toEqual({
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { creationTimestamp: '2026-01-02T03:04:05Z' },
      status: { userInfo: { username: 'jane', groups: ['devs', 'system:authenticated'] } },
    });
  });

  const tokens = bearerTokens(
    [
      {
        authenticateToken(token, audiences) {
          if (token === 'bad') throw new Unauthenticated('it is bad');
          return token === 'good' ? { user: { ...jane, uid: 'u', extra: { k: ['v'] } }, audiences } : undefined;
        },
      },
      { authenticateToken: async (token) => (token === 'slow' ? { user: jane, audiences: ['api'] } : undefined) },
    ],
    ['api'],
  );
  const review = (spec: object): unknown => {
    const result = tokenReview(body(spec), tokens);
    return result instanceof Promise ? result.then((answer) => answer['status']) : result['status'];
  };

  it('report the user and audiences of a token', () => {
    const user = { username: 'jane', uid: 'u', groups: jane.groups, extra: { k: ['v'] } };
    expect(review({ token: 'good' })).toEqual({ authenticated: true, user, audiences: ['api'] });
    expect(review({ token: 'good', audiences: ['vault'] })).toEqual({ authenticated: true, user, audiences: ['vault'] });
  });

  it('wait for asynchronous authenticators', async () => {
    await expect(review({ token: 'slow' })).resolves.toMatchObject({ authenticated: true });
  });

  it('report why a token is invalid', async () => {
    expect(review({ token: 'bad' })).toEqual({ user: {}, error: '[invalid bearer token, it is bad]' });
    await expect(review({ token: 'nope' })).resolves.toEqual({ user: {}, error: 'invalid bearer token' });
    expect(failure(() => review({}))).toMatchObject({ code: 400, message: 'token is required for TokenReview in authentication' });
  });
});
