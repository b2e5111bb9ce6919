import type { User } from '@capstan/api';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseAuthenticationConfiguration } from './authentication-configuration.ts';
import { bearerTokens } from './bearer.ts';
import { type OidcOptions, oidc } from './oidc.ts';
import { newSigningKey, startIssuer, type TestIssuer } from './testing.ts';
import { Unauthenticated } from './user.ts';

const first = newSigningKey();
const second = newSigningKey();

let issuer: TestIssuer;
let issuerUrl: string;
let authorities: string;

beforeAll(async () => {
  issuer = await startIssuer();
  ({ url: issuerUrl, authorities } = issuer);
});
afterAll(() => issuer[Symbol.asyncDispose]());
beforeEach(() => {
  issuer.requests = [];
  issuer.keys = [first];
  issuer.document = { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` };
});

const token = (claims: object = {}, key = first): string => issuer.token(claims, key);
const authenticator = (options: Partial<OidcOptions> = {}): ReturnType<typeof bearerTokens> =>
  bearerTokens([oidc({ issuerUrl, clientIds: ['capstan'], authorities, audiences: ['api'], ...options })], ['api']);
const authenticate = async (text: string, options: Partial<OidcOptions> = {}): Promise<User> =>
  (await authenticator(options).authenticate({ authorization: `Bearer ${text}` }))!;

describe('an ID token', () => {
  it('authenticates a user, with the issuer as prefix of the name', async () => {
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

  it('makes the server contact the issuer once, and is verified synchronously the second time', async () => {
    const bearer = authenticator();
    const authorization = `Bearer ${token()}`;
    const user = await bearer.authenticate({ authorization });
    expect(bearer.authenticate({ authorization })).toBe(user);
    await bearer.authenticate({ authorization: `Bearer ${token({ sub: 'joe' })}` });
    expect(issuer.requests).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  it('signed with a new key is accepted once the issuer publishes the key', async () => {
    issuer.keys = [second];
    expect((await authenticate(token({}, second), { usernamePrefix: '-' })).name).toBe('jane');
  });

  it.each<[string, () => string, RegExp]>([
    ['expired', () => token({ exp: 1000 }), /oidc: verify token: .*exp/],
    ['without expiry', () => token({ exp: undefined }), /oidc: verify token: .*exp/],
    ['for another client', () => token({ aud: 'other' }), /oidc: verify token: .*aud/],
    ['signed with an unknown key', () => token({}, second), /oidc: verify token/],
    [
      'signed with another key under a key ID of the issuer',
      () => token({}, { ...second, kid: first.kid }),
      /oidc: verify token: signature/,
    ],
    ['with another algorithm', () => token({}, { ...first, algorithm: 'none' as never }), /oidc: verify token/],
    ['without a user', () => token({ sub: undefined }), /parse username claims "sub"/],
    ['of another issuer', () => token({ iss: 'https://elsewhere' }), /^invalid bearer token$/],
  ])('that is %s is rejected', async (_, make, message) => {
    await expect(authenticate(make())).rejects.toThrow(message);
  });

  it('with an unverified email, or without a required claim, is rejected', async () => {
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
  it('with an untrusted certificate is not used', async () => {
    await using other = await startIssuer();
    const stranger = other.authorities;
    await expect(authenticate(token(), { authorities: stranger })).rejects.toThrow(/cannot fetch the keys/);
    expect(issuer.requests).toEqual([]);
  });

  it('whose discovery document names another issuer is not trusted', async () => {
    issuer.document['issuer'] = 'https://elsewhere';
    await expect(authenticate(token())).rejects.toThrow(/names the issuer "https:\/\/elsewhere"/);
  });

  it('that failed is retried after a pause', async () => {
    let time = Date.now();
    issuer.document = {};
    const bearer = authenticator({ now: () => time });
    const attempt = async (): Promise<unknown> => bearer.authenticate({ authorization: `Bearer ${token()}` });
    await expect(attempt()).rejects.toThrow(/cannot fetch the keys/);
    await expect(attempt()).rejects.toThrow(/cannot fetch the keys/);
    expect(issuer.requests).toHaveLength(1);
    issuer.document = { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` };
    time += 11_000;
    await expect(attempt()).resolves.toMatchObject({ name: `${issuerUrl}#jane` });
  });

  it('needs https and a client ID', () => {
    expect(() => oidc({ issuerUrl: 'http://x', clientIds: ['a'], audiences: [] })).toThrow(/https/);
    expect(() => oidc({ issuerUrl: 'https://x', clientIds: [], audiences: [] })).toThrow(/client id/);
  });
});

describe('expressions over claims', () => {
  const configured = (mapping: string): OidcOptions =>
    parseAuthenticationConfiguration(
      `kind: AuthenticationConfiguration
jwt:
  - issuer: { url: ${JSON.stringify(issuerUrl)}, audiences: [capstan], certificateAuthority: ${JSON.stringify(authorities)} }
    ${mapping}`,
      ['api'],
    )[0]!;

  it('compute the name, groups, uid and extra of a user', async () => {
    const options = configured(`claimMappings:
      username: { expression: "claims.given + '@' + claims.tenant" }
      groups: { expression: "claims.roles.map(role, 'r:' + role)" }
      extra: [{ key: example.com/level, valueExpression: "claims.level" }]`);
    expect(await authenticate(token({ given: 'jane', tenant: 'acme', roles: ['a', 'b'], level: 'high' }), options)).toEqual({
      name: 'jane@acme',
      groups: ['r:a', 'r:b', 'system:authenticated'],
      extra: { 'example.com/level': ['high'] },
    });
  });

  it('reject tokens, with their message', async () => {
    const options = configured(`claimMappings: { username: { claim: sub, prefix: "" } }
    claimValidationRules: [{ expression: "claims.tenant == 'acme'", message: "only for acme" }]`);
    expect((await authenticate(token({ tenant: 'acme' }), options)).name).toBe('jane');
    await expect(authenticate(token({ tenant: 'other' }), options)).rejects.toThrow('oidc: only for acme');
    await expect(authenticate(token(), options)).rejects.toThrow(/no such key: tenant/);
  });

  it('share a budget for each token', async () => {
    const rule = '{ expression: "claims.list.all(x, claims.list.exists(y, x == y))" }';
    const options = (count: number): Partial<OidcOptions> =>
      configured(`claimMappings: { username: { claim: sub, prefix: "" } }
    claimValidationRules: [${Array.from({ length: count }, () => rule).join(', ')}]`);
    const list = Array.from({ length: 100 }, (_, index) => index);
    expect((await authenticate(token({ list }), options(2))).name).toBe('jane');
    await expect(authenticate(token({ list }), options(100))).rejects.toThrow('cost limit exceeded');
  });

  it('are not evaluated if they must not be', async () => {
    const beforeExpressions = (): void => {
      throw new Unauthenticated('quarantined');
    };
    await expect(authenticate(token(), { beforeExpressions })).rejects.toThrow('quarantined');
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
      /jwt\[0\]\.claimMappings\.username\.expression: must evaluate to string, not int/,
    ],
    ['- issuer: {audiences: [a]}\n  claimMappings: {username: {claim: a}}', /jwt\[0\]\.issuer\.url: is required/],
  ])('%j is rejected with the field', (text, message) => {
    expect(() => parseAuthenticationConfiguration(yaml(text), [])).toThrow(message);
  });
});
