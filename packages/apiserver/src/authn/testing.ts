import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { issueCertificate, jsonWebKey, type SigningKey, signingKey } from '@capstan/pki';
import { encode } from './jwt.ts';

/** A local OpenID issuer. */
export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  /** PEM of the authority that signed its certificate. */
  readonly authorities: string;
  /** The published keys; the first one signs. */
  keys: SigningKey[];
  document: Record<string, unknown>;
  /** The requested paths. */
  requests: string[];
  token(claims?: object, key?: SigningKey): string;
}

export const newSigningKey = (): SigningKey => signingKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);

export async function startIssuer(): Promise<TestIssuer> {
  const dates = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const leaf = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const authorities = issueCertificate(
    { commonName: 'issuer', publicKey: authority.publicKey, usage: 'authority', ...dates },
    { key: authority.privateKey },
  );
  const cert = issueCertificate(
    { commonName: 'issuer', publicKey: leaf.publicKey, usage: 'server', hosts: ['127.0.0.1'], ...dates },
    { key: authority.privateKey, certificate: new X509Certificate(authorities) },
  );
  const server = createServer({ cert, key: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }) }, (request, response) => {
    issuer.requests.push(request.url!);
    response.setHeader('content-type', 'application/json');
    if (request.url === '/.well-known/openid-configuration') response.end(JSON.stringify(issuer.document));
    else if (request.url === '/keys') response.end(JSON.stringify({ keys: issuer.keys.map(jsonWebKey) }));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: TestIssuer = {
    url,
    authorities,
    keys: [newSigningKey()],
    document: { issuer: url, jwks_uri: `${url}/keys` },
    requests: [],
    token: (claims = {}, key = issuer.keys[0]!) => {
      const now = Math.floor(Date.now() / 1000);
      return encode({ iss: url, aud: 'capstan', sub: 'jane', exp: now + 600, iat: now, ...claims }, key);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return issuer;
}
