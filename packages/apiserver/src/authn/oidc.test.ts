import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { issueCertificate, jsonWebKey, type SigningKey, signingKey } from '../pki/index.ts';
import { parseAuthenticationConfiguration } from './authentication-configuration.ts';
import { bearerTokens } from './bearer.ts';
import { encode } from './jwt.ts';
import { type OidcOptions, oidc } from './oidc.ts';
import type { User } from './user.ts';

const newKey = (): SigningKey => signingKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);
const dates = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const first = newKey();
const second = newKey();

let server: Server;
let issuerUrl: string;
let authorities: string;
let published: SigningKey[] = [first];
let requests: string[] = [];
let document: Record<string, unknown>;

beforeAll(async () => {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const leaf = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  authorities = issueCertificate(
    { commonName: 'issuer', publicKey: authority.publicKey, usage: 'authority', ...dates },
    { key: authority.privateKey },
  );
  const cert = issueCertificate(
    { commonName: 'issuer', publicKey: leaf.publicKey, usage: 'server', hosts: ['127.0.0.1'], ...dates },
    { key: authority.privateKey, certificate: new X509Certificate(authorities) },
  );
  server = createServer({ cert, key: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }) }, (request, response) => {
    requests.push(request.url!);
    response.setHeader('content-type', 'application/json');
    if (request.url === '/.well-known/openid-configuration') response.end(JSON.stringify(document));
    else if (request.url === '/keys') response.end(JSON.stringify({ keys: published.map(jsonWebKey) }));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuerUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  requests = [];
  published = [first];
  document = { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` };
});

const token = (claims: object = {}, key = first): string => {
  const now = Math.floor(Date.now() / 1000);
  return encode({ iss: issuerUrl, aud: 'capstan', sub: 'jane', exp: now + 600, iat: now, ...claims }, key);
};
const authenticator = (options: Partial<OidcOptions> = {}): ReturnType<typeof bearerTokens> =>
  bearerTokens([oidc({ issuerUrl, clientIds: ['capstan'], authorities, audiences: ['api'], ...options })], ['api']);
const authenticate = async (text: string, options: Partial<OidcOptions> = {}): Promise<User> =>
  (await authenticator(options).authenticate({ authorization: `Bearer ${text}` }))!;

describe('an ID token', () => {
  it('proves a user, with the issuer before the name', async () => {
    expect(await authenticate(token())).toEqual({ name: `${issuerUrl}#jane`, groups: ['system:authenticated'] });
  });

  it('is mapped as configured', async () => {
    const options = { usernameClaim: 'email', groupsClaim: 'roles', groupsPrefix: 'oidc:', uidClaim: 'sub' };
    const claims = { email: 'jane@example.org', email_verified: true, roles: ['devs', 'ops'], jti: 'j1' };
    expect(await authenticate(token(claims), options)).toEqual({
      name: 'jane@example.org',
      uid: 'jane',
      groups: ['oidc:devs', 'oidc:ops', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j1'] },
    });
    expect((await authenticate(token({ roles: 'devs' }), { groupsClaim: 'roles', usernamePrefix: '-' })).groups).toEqual([
      'devs',
      'system:authenticated',
    ]);
  });

  it('asks the issuer once, and answers at once the second time', async () => {
    const bearer = authenticator();
    const authorization = `Bearer ${token()}`;
    const user = await bearer.authenticate({ authorization });
    expect(bearer.authenticate({ authorization })).toBe(user);
    await bearer.authenticate({ authorization: `Bearer ${token({ sub: 'joe' })}` });
    expect(requests).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  it('signed with a new key is accepted once the issuer publishes the key', async () => {
    published = [second];
    expect((await authenticate(token({}, second), { usernamePrefix: '-' })).name).toBe('jane');
  });

  it.each<[string, () => string, RegExp]>([
    ['expired', () => token({ exp: 1000 }), /oidc: verify token: .*exp/],
    ['without expiry', () => token({ exp: undefined }), /oidc: verify token: .*exp/],
    ['for another client', () => token({ aud: 'other' }), /oidc: verify token: .*aud/],
    ['of a key that the issuer does not have', () => token({}, second), /oidc: verify token/],
    ['of a key that claims to be the issuer’s', () => token({}, { ...second, kid: first.kid }), /oidc: verify token: signature/],
    ['with another algorithm', () => token({}, { ...first, algorithm: 'none' as never }), /oidc: verify token/],
    ['without a user', () => token({ sub: undefined }), /parse username claims "sub"/],
    ['of another issuer', () => token({ iss: 'https://elsewhere' }), /^invalid bearer token$/],
  ])('that is %s is refused', async (_, make, message) => {
    await expect(authenticate(make())).rejects.toThrow(message);
  });

  it('with an unverified email, or without a required claim, is refused', async () => {
    await expect(authenticate(token({ email: 'a@b', email_verified: false }), { usernameClaim: 'email' })).rejects.toThrow(
      'oidc: email not verified',
    );
    await expect(authenticate(token(), { requiredClaims: { hd: 'example.org' } })).rejects.toThrow('required claim hd');
    expect((await authenticate(token({ hd: 'example.org' }), { requiredClaims: { hd: 'example.org' }, usernamePrefix: 'x:' })).name).toBe(
      'x:jane',
    );
  });
});

describe('an issuer', () => {
  it('whose certificate is not trusted is not asked', async () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const stranger = issueCertificate(
      { commonName: 'x', publicKey: other.publicKey, usage: 'authority', ...dates },
      { key: other.privateKey },
    );
    await expect(authenticate(token(), { authorities: stranger })).rejects.toThrow(/cannot be asked for its keys/);
    expect(requests).toEqual([]);
  });

  it('that calls itself something else is not believed', async () => {
    document['issuer'] = 'https://elsewhere';
    await expect(authenticate(token())).rejects.toThrow(/names the issuer "https:\/\/elsewhere"/);
  });

  it('that failed is left alone for a while, then asked again', async () => {
    let time = Date.now();
    document = {};
    const bearer = authenticator({ now: () => time });
    const attempt = async (): Promise<unknown> => bearer.authenticate({ authorization: `Bearer ${token()}` });
    await expect(attempt()).rejects.toThrow(/cannot be asked/);
    await expect(attempt()).rejects.toThrow(/cannot be asked/);
    expect(requests).toHaveLength(1);
    document = { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` };
    time += 11_000;
    await expect(attempt()).resolves.toMatchObject({ name: `${issuerUrl}#jane` });
  });

  it('needs https and a client', () => {
    expect(() => oidc({ issuerUrl: 'http://x', clientIds: ['a'], audiences: [] })).toThrow(/https/);
    expect(() => oidc({ issuerUrl: 'https://x', clientIds: [], audiences: [] })).toThrow(/client id/);
  });
});

describe('an AuthenticationConfiguration', () => {
  const yaml = (jwt: string): string => `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n${jwt}`;

  it('describes issuers', () => {
    const text = yaml(
      '- issuer: {url: "https://id.example.org", audiences: [a, b]}\n  claimValidationRules: [{claim: hd, requiredValue: example.org}]\n' +
        '  claimMappings: {username: {claim: email, prefix: "x:"}, groups: {claim: roles}, uid: {claim: sub}}\n',
    );
    expect(parseAuthenticationConfiguration(text, ['api'])).toMatchObject([
      {
        issuerUrl: 'https://id.example.org',
        clientIds: ['a', 'b'],
        usernameClaim: 'email',
        usernamePrefix: 'x:',
        groupsClaim: 'roles',
        uidClaim: 'sub',
        requiredClaims: { hd: 'example.org' },
      },
    ]);
  });

  it.each([
    ['- {}', /jwt\[0\]\.issuer: expected a mapping/],
    ['- issuer: {url: x}\n  claimMappings: {username: {claim: a}}', /jwt\[0\]\.issuer\.audiences: expected a list/],
    [
      '- issuer: {url: x, audiences: [a]}\n  claimMappings: {username: {expression: "1"}}',
      /jwt\[0\]\.claimMappings\.username\.expression: expressions are not supported/,
    ],
    ['- issuer: {audiences: [a]}\n  claimMappings: {username: {claim: a}}', /jwt\[0\]\.issuer\.url: is required/],
  ])('%j is refused with the field', (text, message) => {
    expect(() => parseAuthenticationConfiguration(yaml(text), [])).toThrow(message);
  });
});
