import { rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, textOf } from '@capstan/machinery';
import { certificateKey, differingFiles, type Installation } from './installation.ts';
import { leaseSeconds, liveServers, type ServerRecord } from './lease.ts';

/** Another API server uses the same store with different keys: each would reject what the other signs. */
export class OtherInstallationError extends Error {
  override readonly name = 'OtherInstallationError';
  readonly code = 'otherInstallation';
}

export interface Comparison {
  readonly objects: ObjectReader;
  readonly installation: Installation;
  readonly pkiDirectory: string;
  readonly now: Date;
}

/**
 * Throws if a live server of this store has different keys. With `since`, only servers registered before that revision count: of
 * two servers that start together, the later one gives way.
 */
export function refuseOtherInstallation({ objects, installation, pkiDirectory, now }: Comparison, since = Number.POSITIVE_INFINITY): void {
  for (const other of liveServers(objects, now)) {
    const files = differingFiles(installation, other.installation);
    if (files.length > 0 && other.revision < since) throw new OtherInstallationError(refusal(other, { files, pkiDirectory, now }));
  }
}

function refusal(other: ServerRecord, { files, pkiDirectory, now }: { files: readonly string[]; pkiDirectory: string; now: Date }): string {
  const seconds = Math.max(0, Math.round((now.getTime() - other.renewedAt.getTime()) / 1000));
  return (
    `another API server uses this store with other keys: ${other.url}, last seen ${seconds} s ago. Each would reject the tokens and certificates of the other. ` +
    `API servers that share a store share their keys: replace ${pkiDirectory} by a copy of that server's pki folder (${files.join(', ')} differ) and start again. ` +
    `If that server is gone for good, start again in ${leaseSeconds} s`
  );
}

/** The warning to log at startup if the objects in the store were last served with another authority; undefined otherwise. */
export function formerAuthority({ objects, installation, pkiDirectory }: Omit<Comparison, 'now'>): string | undefined {
  const published = objects.get({
    group: '',
    resource: 'configmaps',
    cluster: rootCluster,
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication',
  });
  const certificate = textOf(fieldsOf(published?.['data'])['client-ca-file']);
  const known = [installation.authority, installation.otherAuthority];
  if (certificate === '' || keysOf(certificate).some((key) => known.includes(key))) return undefined;
  return (
    'the objects in this store were last served with another certificate authority: kubeconfigs, client certificates and service account tokens of that time are no longer accepted. ' +
    `To keep them valid, stop this server, replace ${pkiDirectory} by the pki folder of that time, and start again`
  );
}

/** None if the text has no certificates: clients can write anything into the ConfigMap. */
function keysOf(certificates: string): string[] {
  try {
    const blocks = certificates.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
    return blocks.map(certificateKey);
  } catch {
    return [];
  }
}
