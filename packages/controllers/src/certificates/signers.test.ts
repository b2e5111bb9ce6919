import { generateKeyPairSync } from 'node:crypto';
import { createCertificateRequest, type ParsedRequest, parseCertificateRequest } from '@capstan/pki';
import { expect, test } from 'vitest';
import { kubernetesSigners } from './signers.ts';

const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const asking = (commonName: string, organizations: string[] = [], hosts: string[] = []): ParsedRequest =>
  parseCertificateRequest(createCertificateRequest({ commonName, organizations, hosts, key })) as ParsedRequest;
const objection = (signer: string, request: ParsedRequest, ...usages: string[]): string | undefined =>
  kubernetesSigners.find(({ name }) => name === signer)!.objection(request, usages);

const client = 'kubernetes.io/kube-apiserver-client';
const kubelet = 'kubernetes.io/kube-apiserver-client-kubelet';
const serving = 'kubernetes.io/kubelet-serving';
const nodes = ['system:nodes'];
const signature = 'digital signature';
const encipherment = 'key encipherment';

test.each<[string, ParsedRequest, string[], string | undefined]>([
  [client, asking('jane', ['devs']), ['client auth'], undefined],
  [client, asking('jane'), ['client auth', signature, encipherment], undefined],
  [client, asking('jane'), [signature], 'missing required usage for client certificate: client auth'],
  [client, asking('jane'), ['client auth', 'server auth'], 'invalid usage for client certificate: server auth'],
  [kubelet, asking('system:node:a', nodes), ['client auth', signature], undefined],
  [kubelet, asking('system:node:a', nodes), [encipherment, signature, 'client auth'], undefined],
  [kubelet, asking('system:node:a', ['system:masters']), ['client auth', signature], 'subject organization is not system:nodes'],
  [kubelet, asking('system:node:a', [...nodes, 'x']), ['client auth', signature], 'subject organization is not system:nodes'],
  [kubelet, asking('jane', nodes), ['client auth', signature], 'subject common name does not begin with system:node:'],
  [kubelet, asking('system:node:a', nodes, ['a.example.com']), ['client auth', signature], 'DNS subjectAltNames are not allowed'],
  [kubelet, asking('system:node:a', nodes, ['10.0.0.1']), ['client auth', signature], 'IP subjectAltNames are not allowed'],
  [kubelet, asking('system:node:a', nodes), ['client auth'], 'usages did not match [client auth digital signature key encipherment]'],
  [serving, asking('system:node:a', nodes, ['a', '10.0.0.1']), ['server auth', signature], undefined],
  [serving, asking('system:node:a', nodes), ['server auth', signature], 'DNS or IP subjectAltName is required'],
  [serving, asking('a', nodes, ['a']), ['server auth', signature], 'subject common name does not begin with system:node:'],
  [
    serving,
    asking('system:node:a', nodes, ['a']),
    ['client auth'],
    'usages did not match [digital signature key encipherment server auth]',
  ],
  ['kubernetes.io/legacy-unknown', asking('anything'), ['code signing'], undefined],
])('%s accepts or rejects case %#', (signer, request, usages, expected) => {
  expect(objection(signer, request, ...usages)).toBe(expected);
});
