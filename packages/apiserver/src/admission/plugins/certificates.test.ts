import { generateKeyPairSync } from 'node:crypto';
import { createCertificateRequest } from '@capstan/pki';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const asJane = { headers: { 'impersonate-user': 'jane' } };

const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = (...organizations: string[]): string => createCertificateRequest({ commonName: 'jane', organizations, key });

const ask = (name: string, organizations: string[] = [], signerName = 'kubernetes.io/kube-apiserver-client'): Promise<Reply> =>
  server.call(path, {
    method: 'POST',
    body: {
      metadata: { name },
      spec: { request: Buffer.from(pem(...organizations)).toString('base64'), signerName, usages: ['client auth'] },
    },
  });

const give = (name: string, rules: object[]): Promise<unknown> =>
  Promise.all([
    server.call(`${rbac}/clusterroles`, { method: 'POST', body: { metadata: { name }, rules } }),
    server.call(`${rbac}/clusterrolebindings`, {
      method: 'POST',
      body: {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
      },
    }),
  ]);

const write = (name: string, subresource: string, status: object): Promise<Reply> =>
  server.call(`${path}/${name}/${subresource}`, {
    method: 'PATCH',
    body: { status },
    ...asJane,
    headers: { ...asJane.headers, 'content-type': 'application/merge-patch+json' },
  });

const approved = { conditions: [{ type: 'Approved', status: 'True', reason: 'r', message: 'm' }] };
const failed = { conditions: [{ type: 'Failed', status: 'True', reason: 'r', message: 'm' }] };

beforeAll(async () => {
  server = await startTestServer();
  const resources = ['certificatesigningrequests/approval', 'certificatesigningrequests/status'];
  await give('parts', [{ apiGroups: ['certificates.k8s.io'], resources, verbs: ['update', 'patch'] }]);
});
afterAll(() => server[Symbol.asyncDispose]());

it('rejects certificate requests for the group system:masters', async () => {
  expect((await ask('master', ['devs', 'system:masters'])).json().message).toBe(
    'certificatesigningrequests.certificates.k8s.io "master" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  );
  expect((await ask('other-signer', ['system:masters'], 'example.com/any')).code).toBe(201);
});

it('requires permission to approve for the signer or its domain', async () => {
  await ask('one');
  const refused = await write('one', 'approval', approved);
  expect([refused.code, refused.json().message]).toEqual([
    403,
    'certificatesigningrequests.certificates.k8s.io "one" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"',
  ]);
  await give('approve', [
    { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: ['kubernetes.io/*'], verbs: ['approve'] },
  ]);
  expect((await write('one', 'approval', approved)).code).toBe(200);
});

it("requires permission to sign for changes to the signer's part of the status", async () => {
  await ask('two');
  expect((await write('two', 'status', {})).code).toBe(200);
  expect((await write('two', 'status', failed)).json().message).toContain('user not permitted to sign requests with signerName');
  const resourceNames = ['kubernetes.io/kube-apiserver-client'];
  await give('sign', [{ apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames, verbs: ['sign'] }]);
  expect((await write('two', 'status', failed)).code).toBe(200);
});
