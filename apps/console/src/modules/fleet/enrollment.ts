import {
  authorityPath,
  enrollmentToken,
  installCommand,
  type LogicalCluster,
  logicalClusterKind,
  logicalClusterName,
  type NodeEnrollment,
  nodeEnrollmentKind,
  platformWorkspace,
  rootCluster,
} from '@capstan/api';
import { kubeClient } from '../kube/client.ts';

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');
const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

/** The bytes of the first certificate in a text. */
export function certificateIn(pem: string): Uint8Array<ArrayBuffer> {
  const found = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/.exec(pem);
  if (found === null) throw new Error('the API server has not shown the certificate of its authority');
  return Uint8Array.from(atob(found[1]!.replace(/\s/g, '')), (character) => character.charCodeAt(0));
}

/** Lets one machine become a node, and returns the command that makes it one. The secret is in this command only. */
export async function enroll(node: string, minutes: number): Promise<string> {
  const platform = kubeClient(platformWorkspace);
  const secret = base64Url(random(32));
  const name = `${node.slice(0, 52)}-${hex(random(5))}`;
  const [{ status }, { text: pem }] = await Promise.all([
    platform.resource<LogicalCluster>(logicalClusterKind).get(logicalClusterName),
    kubeClient(rootCluster).raw({ method: 'GET', path: authorityPath }),
  ]);
  const enrollment: NodeEnrollment = {
    apiVersion: `${nodeEnrollmentKind.group}/${nodeEnrollmentKind.version}`,
    kind: nodeEnrollmentKind.kind,
    metadata: { name },
    spec: {
      node,
      secretHash: await sha256(new TextEncoder().encode(secret)),
      expiresAt: `${new Date(Date.now() + minutes * 60_000).toISOString().slice(0, 19)}Z`,
    },
  };
  await platform.resource<NodeEnrollment>(nodeEnrollmentKind).create(enrollment);
  return installCommand({
    server: new URL(status?.URL ?? '').origin,
    token: enrollmentToken(name, secret),
    authorityHash: await sha256(certificateIn(pem)),
  });
}
