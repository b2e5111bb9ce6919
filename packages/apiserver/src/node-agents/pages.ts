import { X509Certificate } from 'node:crypto';
import {
  authorityByHashPath,
  authorityPath,
  type EnrollRequest,
  enrollPath,
  type IssuedCertificate,
  oldestAgentVersion,
  type RenewRequest,
  renewPath,
  type ServerList,
  serversPath,
} from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, StatusError, status } from '@capstan/machinery';
import { certificateFingerprint, pinnedCertificate } from '@capstan/pki';
import { bearerToken } from '../authn/bearer.ts';
import type { Exchange } from '../http/exchange.ts';
import { liveServers } from '../presence/lease.ts';
import type { Page } from '../registry/page.ts';
import type { NodeMembership } from './membership.ts';

/** No certificate and no request for one is larger. */
const largestBody = 64 << 10;

/** The pages for machines that become nodes, and for nodes. */
export function nodePages(options: {
  readonly membership: NodeMembership;
  readonly objects: ObjectReader;
  /** PEM of the authorities of the servers. */
  readonly authority: () => string;
  /** The version of this server, and of the oldest agents that it works with. */
  readonly version?: string | undefined;
  readonly now: () => Date;
}): [string, Page][] {
  const { membership, objects, authority, version, now } = options;
  return [
    [authorityPath, only('GET', (exchange) => exchange.send({ code: 200, type: 'application/x-pem-file', body: authority() }))],
    [
      authorityByHashPath,
      only('GET', (exchange, { path }) => sendAuthority(exchange, authority(), path.slice(authorityByHashPath.length))),
    ],
    [
      serversPath,
      only('GET', (exchange) =>
        json(exchange, {
          servers: liveServers(objects, now()).map(({ name, url }) => ({ name, url })),
          ...(version !== undefined && { version, oldestAgent: oldestAgentVersion }),
        } satisfies ServerList),
      ),
    ],
    [
      enrollPath,
      only('POST', async (exchange) => {
        const token = bearerToken(exchange.headers.authorization ?? '') ?? '';
        json(exchange, await membership.enroll(token, await bodyOf<EnrollRequest>(exchange)));
      }),
    ],
    [renewPath, only('POST', async (exchange) => json(exchange, await membership.renew(await bodyOf<RenewRequest>(exchange))))],
  ];
}

function sendAuthority(exchange: Exchange, authorities: string, fingerprint: string): void {
  const pem = pinnedCertificate(authorities, fingerprint.toLowerCase());
  if (pem === undefined)
    throw new StatusError({
      code: 404,
      reason: 'NotFound',
      message: `the authority of this server has the SHA-256 ${certificateFingerprint(authorities)}`,
    });
  exchange.send({ code: 200, type: 'application/pkix-cert', body: new X509Certificate(pem).raw });
}

function only(method: string, page: Page): Page {
  return (exchange, info) => {
    if (info.method !== method) throw status.methodNotAllowed();
    return page(exchange, info);
  };
}

/** Every field is text; those who read them check which. */
async function bodyOf<T extends object>(exchange: Exchange): Promise<T> {
  const body = await exchange.body(largestBody);
  try {
    return fieldsOf(JSON.parse(body.toString('utf8'))) as T;
  } catch {
    throw status.badRequest('expected a body in JSON');
  }
}

function json(exchange: Exchange, body: IssuedCertificate | ServerList): void {
  exchange.send({ code: 200, type: 'application/json', body: JSON.stringify(body) });
}
