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

/** What is done for a request by somebody who has these rights. */
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
  ['an enrolled node gets its certificate', {}, ['nodeagent/a'], ['approval: Approved', 'status: Approved with a certificate', 'done']],
  ['the right to enrol another node does not help', {}, ['nodeagent/b'], ['requeueAfter']],
  ['the right to renew does not help who is somebody else', {}, ['selfnodeagent'], ['requeueAfter']],
  [
    'a node agent renews its own',
    { username: 'system:capstan-node-agent:a' },
    ['selfnodeagent'],
    ['approval: Approved', 'status: Approved with a certificate', 'done'],
  ],
  ['a subject that is none of a node agent is never approved', { commonName: 'kubernetes-admin' }, ['nodeagent/'], ['done']],
  ['what a person asks for waits for a person', person, ['nodeclient'], ['done']],
  ['what was approved is signed', { ...person, conditions: approved }, [], ['status: Approved with a certificate', 'done']],
  [
    'what was approved and cannot be signed fails',
    { ...person, usages: ['server auth'], conditions: approved },
    [],
    ['status: Approved Failed', 'done'],
  ],
  ['what was denied stays so', { conditions: [{ type: 'Denied', status: 'True' }] }, ['nodeagent/a'], ['done']],
  ['what has a certificate keeps it', { conditions: approved, certificate: 'AAAA' }, [], ['done']],
  ['a signer of somebody else is left to them', { signerName: 'example.com/other', conditions: approved }, [], ['done']],
])('%s', async (_, asked, rights, expected) => {
  expect(await doneFor(asked, rights)).toEqual(expected);
});

test('who only approves does not sign', async () => {
  const kubelet = {
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    commonName: 'system:node:n',
    organizations: ['system:nodes'],
  };
  expect(await doneFor(kubelet, ['nodeclient'], false)).toEqual(['approval: Approved', 'done']);
  expect(await doneFor({ ...kubelet, username: 'system:node:n' }, ['selfnodeclient'], false)).toEqual(['approval: Approved', 'done']);
});
