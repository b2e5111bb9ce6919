import { isIP } from 'node:net';
import type { Credential } from '../credentials/credentials.ts';
import type { Connection } from '../kubeconfig/connection.ts';

/** How to check a server's certificate, and which one to show it. */
export interface TlsOptions {
  readonly servername: string;
  readonly rejectUnauthorized: boolean;
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

/** Everything that a connection of one's own to the server needs. */
export interface DialOptions {
  /** Of the server, with the path that is prefixed to every path. */
  readonly server: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: TlsOptions;
}

/** For streams, which change the protocol of their connection and so cannot use a transport. */
export async function dialOptions(connection: Connection, { userAgent }: { readonly userAgent: string }): Promise<DialOptions> {
  const { authorization, certificate } = await connection.credentials.current();
  return {
    server: connection.server,
    headers: { 'user-agent': userAgent, ...impersonationHeaders(connection), ...(authorization !== undefined && { authorization }) },
    tls: tlsOptions(connection, certificate),
  };
}

export function tlsOptions({ server, ca, insecure, tlsServerName }: Connection, certificate: Credential['certificate']): TlsOptions {
  const host = hostOf(new URL(server));
  return {
    servername: tlsServerName ?? (isIP(host) === 0 ? host : ''),
    rejectUnauthorized: insecure !== true,
    ...(ca !== undefined && { ca }),
    ...(certificate !== undefined && { cert: certificate.cert, key: certificate.key }),
  };
}

/** Without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

export function impersonationHeaders({ impersonate }: Connection): Record<string, string | string[]> {
  if (impersonate === undefined) return {};
  const headers: Record<string, string | string[]> = { 'impersonate-user': impersonate.user };
  if (impersonate.uid !== undefined) headers['impersonate-uid'] = impersonate.uid;
  if (impersonate.groups !== undefined && impersonate.groups.length > 0) headers['impersonate-group'] = [...impersonate.groups];
  for (const [key, values] of Object.entries(impersonate.extra ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(key)}`] = [...values];
  }
  return headers;
}
