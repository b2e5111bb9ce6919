import { dump } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { parseAuthorizationConfiguration } from './configuration.ts';

const webhook = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  failurePolicy: 'Deny',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: 'hook.kubeconfig' },
};
const read = (authorizers: unknown, more: object = {}) =>
  parseAuthorizationConfiguration(
    dump({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration', authorizers, ...more }),
    (file) => ({ url: `https://${file}`, credentials: () => ({}) }),
  );
const withWebhook = (change: object) => () => read([{ type: 'Webhook', name: 'hook', webhook: { ...webhook, ...change } }]);

describe('an AuthorizationConfiguration', () => {
  it('lists authorizers in order, with the defaults of Kubernetes', () => {
    const order = read([
      { type: 'AlwaysAllowGroups', name: 'groups' },
      { type: 'Webhook', name: 'hook', webhook },
      { type: 'RBAC', name: 'rbac' },
    ]);
    expect(order).toMatchObject([
      { type: 'AlwaysAllowGroups' },
      {
        type: 'Webhook',
        name: 'hook',
        timeout: 3000,
        version: 'v1',
        failurePolicy: 'Deny',
        allowedLifetime: 300_000,
        otherLifetime: 30_000,
        conditions: [],
        connection: { url: 'https://hook.kubeconfig' },
      },
      { type: 'RBAC' },
    ]);
  });

  it('sets whether and for how long answers are cached', () => {
    expect(withWebhook({ authorizedTTL: '1m30s', unauthorizedTTL: '500ms' })()).toMatchObject([
      { allowedLifetime: 90_000, otherLifetime: 500 },
    ]);
    expect(withWebhook({ cacheAuthorizedRequests: false, cacheUnauthorizedRequests: false })()).toMatchObject([
      { allowedLifetime: 0, otherLifetime: 0 },
    ]);
  });

  it.each([
    [() => read([]), 'authorizers: at least one authorization mode must be defined'],
    [() => read([{ type: 'RBAC', name: 'a' }], { kind: 'Policy' }), 'kind: expected AuthorizationConfiguration'],
    [() => read([{ type: 'RBAC', name: 'a' }], { apiVersion: 'v1' }), 'apiVersion: expected one of apiserver.config.k8s.io/v1'],
    [
      () => read([{ type: 'ABAC', name: 'a' }]),
      'authorizers[0].type: expected Node or RBAC or Webhook or AlwaysAllowGroups or AlwaysAllowPaths, found "ABAC"',
    ],
    [() => read([{ type: 'RBAC' }]), 'authorizers[0].name: is required'],
    [() => read([{ type: 'RBAC', name: 'A_' }]), 'authorizers[0].name: a lowercase RFC 1123 subdomain'],
    [
      () =>
        read([
          { type: 'RBAC', name: 'a' },
          { type: 'RBAC', name: 'b' },
        ]),
      'authorizers[1].type: RBAC is given twice',
    ],
    [
      () =>
        read([
          { type: 'RBAC', name: 'a' },
          { type: 'Webhook', name: 'a', webhook },
        ]),
      'authorizers[1].name: "a" is given twice',
    ],
    [() => read([{ type: 'RBAC', name: 'a', webhook }]), 'authorizers[0].webhook: may only be specified when type is Webhook'],
    [() => read([{ type: 'Webhook', name: 'a' }]), 'authorizers[0].webhook: is required'],
    [() => read([{ type: 'RBAC', name: 'a', extra: 1 }]), 'authorizers[0].extra: unknown field; expected one of type, name, webhook'],
    [withWebhook({ timeout: undefined }), 'authorizers[0].webhook.timeout: is required'],
    [withWebhook({ timeout: '31s' }), 'must be more than 0s and at most 30s'],
    [withWebhook({ timeout: '-1s' }), 'expected a duration such as 30s'],
    [withWebhook({ authorizedTTL: 'soon' }), 'authorizers[0].webhook.authorizedTTL: expected a duration'],
    [withWebhook({ failurePolicy: 'Allow' }), 'failurePolicy: expected NoOpinion or Deny, found "Allow"'],
    [withWebhook({ subjectAccessReviewVersion: 'v2' }), 'subjectAccessReviewVersion: expected v1 or v1beta1, found "v2"'],
    [withWebhook({ connectionInfo: { type: 'InClusterConfig' } }), 'connectionInfo.type: expected KubeConfigFile'],
    [withWebhook({ connectionInfo: { type: 'KubeConfigFile' } }), 'connectionInfo.kubeConfigFile: is required'],
    [withWebhook({ matchConditions: [{ expression: 'true' }] }), 'matchConditionSubjectAccessReviewVersion: is required'],
    [
      withWebhook({ matchConditionSubjectAccessReviewVersion: 'v1', matchConditions: [{ expression: 'request.usr == ""' }] }),
      'matchConditions[0].expression: compilation failed',
    ],
  ])('is rejected with the field: %#', (attempt, message) => {
    expect(attempt).toThrow(message);
  });
});
