import { generateKeyPairSync } from 'node:crypto';
import { createCertificateRequest } from '@capstan/pki';
import { expect, test } from 'vitest';
import { type CertificateActions, reconcileRequest } from './reconcile.ts';
import type { RequestCondition, SigningRequest } from './request.ts';
import { kubernetesSigners, platformSigners } from './signers.ts';

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
  const { commonName = 'system:capstan-node-agent:a', organizations = ['system:capstan-node-agents'] } = asked;
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'r' },
    spec: {
      request: Buffer.from(createCertificateRequest({ commonName, organizations, key })).toString('base64'),
      signerName: asked.signerName ?? 'capstan.dev/node-agent',
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
    mayHave: (_, { subresource, name }) => Promise.resolve(rights.includes(name === undefined ? subresource : `${subresource}/${name}`)),
    writeApproval: write('approval'),
    writeStatus: write('status'),
    sign: signs ? () => 'PEM' : undefined,
  };
  const result = await reconcileRequest(request(asked), [...kubernetesSigners, ...platformSigners], actions);
  return [...log, result.type];
}

const approved: RequestCondition[] = [{ type: 'Approved', status: 'True' }];
const person = { signerName: 'kubernetes.io/kube-apiserver-client', commonName: 'jane', organizations: [], usages: ['client auth'] };

test.each<[string, Asked, string[], string[]]>([
  [
    'approves and signs for a user who may enrol the node',
    {},
    ['nodeagent/a'],
    ['approval: Approved', 'status: Approved with a certificate', 'done'],
  ],
  ['does not accept the right to enrol another node', {}, ['nodeagent/b'], ['requeueAfter']],
  ['does not accept the right to renew from another user', {}, ['selfnodeagent'], ['requeueAfter']],
  [
    'renews the certificate of a node agent at its own request',
    { username: 'system:capstan-node-agent:a' },
    ['selfnodeagent'],
    ['approval: Approved', 'status: Approved with a certificate', 'done'],
  ],
  ['never approves a subject that is not that of a node agent', { commonName: 'kubernetes-admin' }, ['nodeagent/'], ['done']],
  ['leaves the request of a person to a person', person, ['nodeclient'], ['done']],
  ['signs an approved request', { ...person, conditions: approved }, [], ['status: Approved with a certificate', 'done']],
  [
    'marks an approved request as failed that the signer rejects',
    { ...person, usages: ['server auth'], conditions: approved },
    [],
    ['status: Approved Failed', 'done'],
  ],
  ['leaves a denied request alone', { conditions: [{ type: 'Denied', status: 'True' }] }, ['nodeagent/a'], ['done']],
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
