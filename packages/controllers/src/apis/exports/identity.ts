import { createHash, randomBytes } from 'node:crypto';
import { type ExportIdentity, holds, identityNamespace, lacks, type NewCondition } from '@capstan/api';
import { type Client, isAlreadyExists, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { namespaceType, secretType } from '../kinds.ts';

export interface IdentityActions {
  readonly getSecret: (namespace: string, name: string) => Promise<KubeObject | undefined>;
  /** Creates the secret and its namespace, unless they exist. */
  readonly createSecret: (secret: KubeObject) => Promise<void>;
}

/** Creates a random key. */
export async function makeIdentity(name: string, { createSecret }: IdentityActions): Promise<ExportIdentity> {
  await createSecret({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: identityNamespace },
    data: { key: randomBytes(32).toString('base64') },
  });
  return { secretRef: { namespace: identityNamespace, name } };
}

/** The hash of the key, and a condition that says whether it is still the same. */
export async function checkIdentity(
  { secretRef: { namespace = '', name = '' } = {} }: ExportIdentity,
  known: string | undefined,
  { getSecret }: IdentityActions,
): Promise<{ identityHash: string | undefined; condition: NewCondition }> {
  const found = hashOf(await getSecret(namespace, name), name);
  const identityHash = known || found.hash;
  return { identityHash, condition: verdict(found, identityHash) };
}

interface Found {
  readonly hash?: string;
  readonly failure?: string;
}

function hashOf(secret: KubeObject | undefined, name: string): Found {
  if (secret === undefined) return { failure: `secret "${name}" not found` };
  const key = (secret['data'] as { key?: string } | undefined)?.key;
  if (!key) return { failure: 'secret is missing data.key' };
  return { hash: createHash('sha256').update(Buffer.from(key, 'base64')).digest('hex') };
}

function verdict({ hash, failure }: Found, wanted: string | undefined): NewCondition {
  if (failure !== undefined) return lacks('IdentityValid', { reason: 'IdentityVerificationFailed', message: failure });
  if (hash === wanted) return holds('IdentityValid');
  const message = `hash mismatch: identity secret hash "${hash}" must match status.identityHash "${wanted}"`;
  return lacks('IdentityValid', { reason: 'IdentityVerificationFailed', message });
}

/** Actions on the secrets of the client's workspace. */
export function identityActions(client: Client, signal: AbortSignal): IdentityActions {
  return {
    getSecret: (namespace, name) => ignoring(client.resource(secretType).in(namespace).get(name, { signal }), isNotFound),
    createSecret: async (secret) => {
      const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: identityNamespace } };
      await ignoring(client.resource(namespaceType).create(namespace, { signal }), isAlreadyExists);
      await ignoring(client.resource(secretType).create(secret, { signal }), isAlreadyExists);
    },
  };
}
