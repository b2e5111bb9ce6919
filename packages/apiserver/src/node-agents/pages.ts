import {
  authorityPath,
  type EnrollRequest,
  enrollPath,
  type IssuedCertificate,
  type RenewRequest,
  renewPath,
  type ServerList,
  serversPath,
} from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, status } from '@capstan/machinery';
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
  readonly now: () => Date;
}): [string, Page][] {
  const { membership, objects, authority, now } = options;
  return [
    [authorityPath, only('GET', (exchange) => exchange.send({ code: 200, type: 'application/x-pem-file', body: authority() }))],
    [
      serversPath,
      only('GET', (exchange) =>
        json(exchange, { servers: liveServers(objects, now()).map(({ name, url }) => ({ name, url })) } satisfies ServerList),
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
