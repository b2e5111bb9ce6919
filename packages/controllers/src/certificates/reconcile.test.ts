import { generateKeyPairSync } from 'node:crypto';
import { createCertificateRequest } from '@capstan/pki';
import { expect, test } from 'vitest';
import { type CertificateActions, reconcileRequest } from './reconcile.ts';
import type { RequestCondition, SigningRequest } from './request.ts';
import { kubernetesSigners } from './signers.ts';

const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Asked {
  readonly commonName?: string;
  readonly organizations?: string[];
  readonly signerName?: string;
  readonly username?: string;
  readonly usages?: string[];
  readonly conditions?: RequestCondition[];
  readonly certificate?: string;
}

function request(asked: Asked): SigningRequest {
  const { commonName = 'system:node:a', organizations = ['system:nodes'] } = asked;
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'r' },
    spec: {
      request: Buffer.from(createCertificateRequest({ commonName, organizations, key })).toString('base64'),
      signerName: asked.signerName ?? 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: asked.usages ?? ['client auth', 'digital signature'],
      username: asked.username ?? 'enroller',
    },
    status: { ...(asked.conditions && { conditions: asked.conditions }), ...(asked.certificate && { certificate: asked.certificate }) },
  };
}

/** The actions for a request of a user with these rights. */
async function doneFor(asked: Asked, rights: string[] = [], signs = true): Promise<string[]> {
  const log: string[] = [];
  const write = (what: string) => (written: SigningRequest) => {
    const { conditions = [], certificate } = written.status ?? {};
    log.push(`${what}: ${conditions.map(({ type }) => type).join(' ')}${certificate === undefined ? '' : ' with a certificate'}`);
    return Promise.resolve(written);
  };
  const actions: CertificateActions = {
    mayHave: (_, subresource) => Promise.resolve(rights.includes(subresource)),
    writeApproval: write('approval'),
    writeStatus: write('status'),
    sign: signs ? () => 'PEM' : undefined,
  };
  const result = await reconcileRequest(request(asked), kubernetesSigners, actions);
  return [...log, result.type];
}

const approved: RequestCondition[] = [{ type: 'Approved', status: 'True' }];
const person = { signerName: 'kubernetes.io/kube-apiserver-client', commonName: 'jane', organizations: [], usages: ['client auth'] };

test.each<[string, Asked, string[], string[]]>([
  [
    'approves and signs for a user who may create kubelets',
    {},
    ['nodeclient'],
    ['approval: Approved', 'status: Approved with a certificate', 'done'],
  ],
  ['does not accept the right to renew from another user', {}, ['selfnodeclient'], ['requeueAfter']],
  [
    'renews the certificate of a kubelet at its own request',
    { username: 'system:node:a' },
    ['selfnodeclient'],
    ['approval: Approved', 'status: Approved with a certificate', 'done'],
  ],
  ['never approves a subject that is not that of a kubelet', { commonName: 'kubernetes-admin' }, ['nodeclient'], ['done']],
  ['leaves the request of a person to a person', person, ['nodeclient'], ['done']],
  ['signs an approved request', { ...person, conditions: approved }, [], ['status: Approved with a certificate', 'done']],
  [
    'marks an approved request as failed that the signer rejects',
    { ...person, usages: ['server auth'], conditions: approved },
    [],
    ['status: Approved Failed', 'done'],
  ],
  ['leaves a denied request alone', { conditions: [{ type: 'Denied', status: 'True' }] }, ['nodeclient'], ['done']],
  ['leaves a request with a certificate alone', { conditions: approved, certificate: 'AAAA' }, [], ['done']],
  ['ignores requests for other signers', { signerName: 'example.com/other', conditions: approved }, [], ['done']],
])('%s', async (_, asked, rights, expected) => {
  expect(await doneFor(asked, rights)).toEqual(expected);
});

test('does not sign without an authority', async () => {
  const kubelet = {
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    commonName: 'system:node:n',
    organizations: ['system:nodes'],
  };
  expect(await doneFor(kubelet, ['nodeclient'], false)).toEqual(['approval: Approved', 'done']);
  expect(await doneFor({ ...kubelet, username: 'system:node:n' }, ['selfnodeclient'], false)).toEqual(['approval: Approved', 'done']);
});
