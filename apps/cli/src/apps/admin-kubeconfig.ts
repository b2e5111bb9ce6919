import { generateKeyPairSync } from 'node:crypto';
import { type AdminCertificate, adminCertificateSubresource, clusterAdminsGroup, nameInCluster } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery/objects';
import { createCertificateRequest } from '@capstan/pki';
import { whoIs } from '../session/login.ts';
import type { Apps } from './apps.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A kubeconfig with a certificate of the cluster's own authority. Its key is made here. */
export async function adminKubeconfig(
  { client, instances }: Apps,
  { name, expiresIn }: { readonly name: string; readonly expiresIn?: number },
): Promise<JsonObject> {
  const user = nameInCluster(await whoIs(client.connection, client.connection.server));
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const request = createCertificateRequest({ key: privateKey, commonName: user, organizations: [clusterAdminsGroup] });
  const issued = await instances.writeSubresource<AdminCertificate>(name, {
    subresource: adminCertificateSubresource,
    method: 'POST',
    body: { spec: { request, ...(expiresIn !== undefined && { expirationSeconds: expiresIn }) } },
  });
  const { certificate = '', authority = '', server = '' } = issued.status ?? {};
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(authority) } }],
    users: [{ name: user, user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) } }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  };
}
