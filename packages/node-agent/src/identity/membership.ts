import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import {
  authorityPath,
  type EnrollRequest,
  enrollPath,
  type IssuedCertificate,
  nodeAgentGroup,
  nodeAgentUser,
  type RenewRequest,
  renewPath,
} from '@capstan/api';
import { certificateFingerprint, createCertificateRequest, pinnedCertificate, renewalProof } from '@capstan/pki';
import { callPage } from './calls.ts';
import { AgentError } from './error.ts';
import { type Identity, pemOf, type StateDirectory } from './state.ts';

export interface JoinOptions {
  /** The URL of an API server. */
  readonly server: string;
  readonly token: string;
  /** SHA-256 of the authority's certificate, in hexadecimal digits. */
  readonly authorityHash: string;
}

export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Fetches the certificate of the authority from a server that cannot be trusted yet. The hash makes it trustworthy. */
export async function fetchAuthority(
  { server, authorityHash }: Pick<JoinOptions, 'server' | 'authorityHash'>,
  signal: AbortSignal,
): Promise<string> {
  // Nothing secret is sent, and what comes back is compared with the hash.
  const pem = await callPage(new URL(authorityPath, server), { method: 'GET', tls: { rejectUnauthorized: false }, signal });
  const authority = pinnedCertificate(pem, authorityHash.toLowerCase().replaceAll(':', ''));
  if (authority !== undefined) return authority;
  throw new AgentError(
    'untrusted',
    `expected the authority with the SHA-256 ${authorityHash} at ${server}, found ${certificateFingerprint(pem)}. Check the address and the join command; somebody may be between this machine and the server`,
  );
}

/** The first identity of this machine. */
export async function enroll(
  join: JoinOptions,
  state: StateDirectory,
  { now, signal }: { now: () => Date; signal: AbortSignal },
): Promise<Identity> {
  const authority = await fetchAuthority(join, signal);
  const key = await state.nextKey();
  // The server knows which node the token is for.
  const body: EnrollRequest = { request: createCertificateRequest({ commonName: '', key }) };
  const text = await callPage(new URL(enrollPath, join.server), {
    method: 'POST',
    body,
    token: join.token,
    tls: { ca: authority },
    signal,
  });
  const identity = identityOf(text, { key, now: now(), entry: join.server, servers: [join.server], tokenHash: hashOfToken(join.token) });
  await state.write(identity);
  return identity;
}

/** The next identity of this machine, from one server. */
export async function renew(
  { node, key, certificate, authority, entry, servers, tokenHash }: Identity,
  state: StateDirectory,
  { server, now, signal }: { server: string; now: () => Date; signal: AbortSignal },
): Promise<Identity> {
  const next = await state.nextKey();
  const request = createCertificateRequest({ commonName: nodeAgentUser(node), organizations: [nodeAgentGroup], key: next });
  const body: RenewRequest = { certificate, request, proof: renewalProof(createPrivateKey(key), request) };
  // Without the present certificate, which may have expired.
  const text = await callPage(new URL(renewPath, server), { method: 'POST', body, tls: { ca: authority }, signal });
  const identity = identityOf(text, { key: next, now: now(), entry, servers, tokenHash });
  await state.write(identity);
  return identity;
}

function identityOf(
  text: string,
  { key, now, ...kept }: { key: KeyObject; now: Date } & Pick<Identity, 'entry' | 'servers' | 'tokenHash'>,
): Identity {
  const { node, certificate, authority } = JSON.parse(text) as IssuedCertificate;
  const { validToDate } = new X509Certificate(certificate);
  return {
    node,
    key: pemOf(key),
    certificate,
    authority,
    issuedAt: now.toISOString(),
    expiresAt: validToDate.toISOString(),
    ...kept,
  };
}
