import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, isForbidden, type Resource } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { createCertificateRequest } from '@capstan/pki';
import { Failure } from '../failure.ts';

interface CertificateRequest extends KubeObject {
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

/** A certificate and its key, in PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateWish {
  readonly name: string;
  readonly groups: readonly string[];
  readonly seconds: number;
}

const group = 'certificates.k8s.io';
const kind = { group, version: 'v1', resource: 'certificatesigningrequests', namespaced: false };
/** How long the controllers may take to sign, in milliseconds. */
const patience = 30_000;

/** Requests a certificate for a user and approves it. The key is made here, and nobody else sees it. */
export async function issueUserCertificate(client: Client, { name, groups, seconds }: CertificateWish): Promise<IssuedCertificate> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const request = createCertificateRequest({ key: privateKey, commonName: name, organizations: groups });
  const requests = client.cluster('root').resource<CertificateRequest>(kind);
  const created = await onlyOwners(
    requests.create({
      apiVersion: `${group}/v1`,
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'user-' },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
        expirationSeconds: seconds,
      },
    } as KubeObject),
  );
  const approved = { type: 'Approved', status: 'True', reason: 'UserCreated', message: `Approved by "capstan user create ${name}"` };
  await requests.writeSubresource(created.metadata.name!, {
    subresource: 'approval',
    method: 'PUT',
    body: { ...created, status: { conditions: [approved] } },
  });
  const certificate = await signed(requests, created.metadata.name!);
  return { certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

async function onlyOwners<T>(made: Promise<T>): Promise<T> {
  try {
    return await made;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new Failure(
      'usage',
      'only owners of the platform can create users. "capstan user grant <name>" gives those who exist a role in your workspace.',
      error,
    );
  }
}

async function signed(requests: Resource<CertificateRequest>, name: string): Promise<string> {
  for (const end = Date.now() + patience; Date.now() < end; await sleep(100)) {
    const { status = {} } = await requests.get(name);
    if (status.certificate !== undefined && status.certificate !== '') return Buffer.from(status.certificate, 'base64').toString();
    const refused = status.conditions?.find(({ type }) => type === 'Failed' || type === 'Denied');
    if (refused !== undefined) throw new Failure('unexpected', `the certificate was not signed: ${refused.message ?? refused.type}.`);
  }
  throw new Failure(
    'unexpected',
    `the certificate request ${name} was not signed within ${patience / 1000} s. The controller-manager signs it: does it run? "capstan status" shows the processes of "capstan up".`,
  );
}
