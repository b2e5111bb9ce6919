import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, fixedCredentials } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { createCertificateRequest } from '@capstan/pki';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { ControllerSettings } from '../registration.ts';
import { gone, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { csrApproving } from './approving/controller.ts';
import { csrCleaning } from './cleaning/controller.ts';
import { requestType, type SigningRequest } from './request.ts';
import { csrSigning } from './signing/controller.ts';

const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keyPem = key.export({ type: 'pkcs8', format: 'pem' }) as string;
const patience = { timeout: 20_000, interval: 20 };
const reviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews', namespaced: false };

let cluster: TestCluster;
let running: AsyncDisposable;

beforeAll(async () => {
  cluster = await startTestCluster();
  const read = (name: string): string => readFileSync(join(cluster.directory, 'pki', name), 'utf8');
  const signing = { load: () => ({ certificate: read('signer.crt'), key: read('signer.key') }) };
  const settings: ControllerSettings = { authority: undefined, concurrency: undefined, signing };
  running = cluster.run(csrApproving(settings), csrSigning(settings), csrCleaning());
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

interface Wanted {
  readonly commonName: string;
  readonly organizations?: string[];
  readonly signerName: string;
  readonly usages: string[];
  readonly expirationSeconds?: number;
}

const requests = () => cluster.client.resource<SigningRequest>(requestType);

function ask(name: string, { commonName, organizations = [], ...spec }: Wanted, client: Client = cluster.client): Promise<SigningRequest> {
  const request = Buffer.from(createCertificateRequest({ commonName, organizations, key })).toString('base64');
  return client.resource<SigningRequest>(requestType).create({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: { request, ...spec },
  });
}

async function approve(name: string): Promise<void> {
  const request = await requests().get(name);
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'm' }];
  await requests().writeSubresource(name, { subresource: 'approval', method: 'PUT', body: { ...request, status: { conditions } } });
}

const issued = (name: string): Promise<string> =>
  vi.waitFor(async () => {
    const { status } = await requests().get(name);
    if (!status?.certificate) throw new Error(`${name} has no certificate: ${JSON.stringify(status)}`);
    return Buffer.from(status.certificate, 'base64').toString();
  }, patience);

/** The user that the server recognizes in a certificate. */
async function whoIs(cert: string): Promise<unknown> {
  using client = new Client({ ...cluster.client.connection, credentials: fixedCredentials({ certificate: { cert, key: keyPem } }) });
  const review = await client
    .resource<KubeObject & { status?: { userInfo?: { username?: string; groups?: string[] } } }>(reviews)
    .create({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} });
  return review.status?.userInfo;
}

test('signs an approved request with a certificate that works and is trusted through the root', async () => {
  await ask('jane', {
    commonName: 'jane',
    organizations: ['devs'],
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
  });
  await approve('jane');
  const pem = await issued('jane');
  expect(await whoIs(pem)).toMatchObject({ username: 'jane', groups: ['devs', 'system:authenticated'] });
  const [leaf, signer] = pem.split(/(?<=-----END CERTIFICATE-----\n)/).map((one) => new X509Certificate(one));
  const root = new X509Certificate(readFileSync(join(cluster.directory, 'pki', 'ca.crt')));
  expect([leaf!.verify(signer!.publicKey), signer!.verify(root.publicKey)]).toEqual([true, true]);
  expect(leaf!.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
  // The leaf alone is accepted too.
  expect(await whoIs(leaf!.toString())).toMatchObject({ username: 'jane' });
});

test('grants a short validity, and does not sign a request that was not approved', async () => {
  const wanted = { commonName: 'short', signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] };
  await ask('waits', wanted);
  await ask('short', { ...wanted, expirationSeconds: 600 });
  await approve('short');
  const { validFromDate, validToDate } = new X509Certificate(await issued('short'));
  // Ten minutes from now, backdated by five.
  expect(validToDate.getTime() - validFromDate.getTime()).toBe(900_000);
  expect((await requests().get('waits')).status ?? {}).toEqual({});
});

test('marks a request that no signer would sign as failed, with the reason', async () => {
  await ask('wrong', { commonName: 'jane', signerName: 'kubernetes.io/kubelet-serving', usages: ['server auth', 'digital signature'] });
  await approve('wrong');
  await vi.waitFor(async () => {
    const { status } = await requests().get('wrong');
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Failed', reason: 'SignerValidationFailure', message: 'subject organization is not system:nodes' }),
    );
  }, patience);
});

test('deletes an old request', async () => {
  await ask('old', { commonName: 'old', signerName: 'example.com/theirs', usages: ['client auth'] });
  const request = await requests().get('old');
  const conditions = [{ type: 'Denied', status: 'True', reason: 'Test', message: 'm', lastUpdateTime: '2020-01-01T00:00:00Z' }];
  await requests().writeSubresource('old', { subresource: 'approval', method: 'PUT', body: { ...request, status: { conditions } } });
  await gone(requests() as never, 'old');
});
