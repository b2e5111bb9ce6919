import { rootCluster, type SessionTokenRequest, sessionTokenPath } from '@capstan/api';
import { fieldsOf, status } from '@capstan/machinery';
import type { CertificateTokens } from '../authn/certificate-tokens.ts';
import { peerCertificate } from '../authn/peer-certificate.ts';
import type { Page } from '../registry/page.ts';

const largestBody = 4 << 10;

/** `POST /capstan/session-token`: a token for the user of the client certificate with which the request came. */
export function sessionTokenPage(tokens: CertificateTokens): readonly [string, Page] {
  return [
    sessionTokenPath,
    async (exchange, info) => {
      if (exchange.method !== 'POST') throw status.methodNotAllowed();
      if (info.cluster !== rootCluster) throw status.noSuchResource();
      // The token would be for the sender all the same.
      if (exchange.headers['impersonate-user'] !== undefined)
        throw status.badRequest('expected no impersonation: the token is for the certificate');
      const { expirationSeconds } = parsed((await exchange.body(largestBody)).toString('utf8'));
      const issued = tokens.issue(peerCertificate(exchange.socket), expirationSeconds);
      exchange.header('Cache-Control', 'no-store');
      exchange.send({ code: 201, type: 'application/json', body: JSON.stringify(issued) });
    },
  ];
}

function parsed(text: string): SessionTokenRequest {
  try {
    return fieldsOf(text === '' ? {} : JSON.parse(text));
  } catch {
    throw status.badRequest('expected a JSON object');
  }
}
