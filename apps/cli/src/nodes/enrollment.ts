import { createHash, randomBytes } from 'node:crypto';
import { authorityPath, enrollmentToken, type Invitation, type NodeEnrollment, nodeEnrollmentKind, platformWorkspace } from '@capstan/api';
import type { Client } from '@capstan/client';
import { certificateFingerprint } from '@capstan/pki';

/** Creates a token with which one machine can become the node. */
export async function invite(client: Client, { node, minutes }: { readonly node: string; readonly minutes: number }): Promise<Invitation> {
  const secret = randomBytes(32).toString('base64url');
  const name = `${node.slice(0, 52)}-${randomBytes(5).toString('hex')}`;
  const object: NodeEnrollment = {
    apiVersion: `${nodeEnrollmentKind.group}/${nodeEnrollmentKind.version}`,
    kind: nodeEnrollmentKind.kind,
    metadata: { name },
    spec: {
      node,
      secretHash: createHash('sha256').update(secret).digest('hex'),
      expiresAt: `${new Date(Date.now() + minutes * 60_000).toISOString().slice(0, 19)}Z`,
    },
  };
  await client.cluster(platformWorkspace).resource<NodeEnrollment>(nodeEnrollmentKind).create(object);
  const { origin } = new URL(client.connection.server);
  const { text } = await client.under('/').raw({ method: 'GET', path: authorityPath });
  return { server: origin, token: enrollmentToken(name, secret), authorityHash: certificateFingerprint(text) };
}
