import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { asClusterId, rootCluster, type User } from '@capstan/api';
import type { KubeObject, StatusError } from '@capstan/machinery';
import { type SigningKey, signingKey } from '@capstan/pki';
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryObjects } from '../authz/testing.ts';
import { bearerTokens } from './bearer.ts';
import { decode, encode } from './jwt.ts';
import { openIdDocuments } from './openid.ts';
import { type ServiceAccountTokenOptions, serviceAccountTokens } from './service-account-tokens.ts';
import { createServiceAccountToken, type TokenRequestCall } from './token-request.ts';
import { Unauthenticated } from './user.ts';

const issuer = 'https://kubernetes.default.svc';
const ecKey = signingKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const rsaKey = signingKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);
const core = (resource: string): { group: string; resource: string } => ({ group: '', resource });
const object = (kind: string, name: string, uid: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'shop', uid },
  ...more,
});

let time = Date.parse('2026-06-01T00:00:00Z');
let objects: MemoryObjects;
beforeEach(() => {
  time = Date.parse('2026-06-01T00:00:00Z');
  objects = new MemoryObjects().put(core('serviceaccounts'), object('ServiceAccount', 'bot', 'sa-1'));
});

function request(
  spec: object = {},
  more: Partial<TokenRequestCall> & { key?: SigningKey; metadata?: object; max?: number } = {},
): KubeObject {
  const { key = ecKey, metadata = {}, max, ...call } = more;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata, spec };
  return createServiceAccountToken(
    { cluster: rootCluster, namespace: 'shop', name: 'bot', body, ...call },
    { issuer, key, audiences: [issuer], objects, now: () => new Date(time), ...(max && { maxExpirationSeconds: max }) },
  ).object;
}

const tokenOf = (answer: KubeObject): string => (answer['status'] as { token: string }).token;
const claimsOf = (token: string): Record<string, unknown> => decode(token)!.claims;

function authenticate(token: string, options: Partial<ServiceAccountTokenOptions> = {}): User {
  const tokens = serviceAccountTokens({ issuer, keys: [ecKey, rsaKey], objects, now: () => time, ...options });
  return bearerTokens([tokens], options.audiences ?? [issuer]).authenticate({ authorization: `Bearer ${token}` }) as User;
}

function failure(action: () => unknown): string {
  try {
    return `no failure: ${JSON.stringify(action())}`;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a token request', () => {
  it('returns a token with the same claims as in Kubernetes', () => {
    const answer = request({ expirationSeconds: 600 });
    expect(answer).toMatchObject({
      metadata: { name: 'bot', namespace: 'shop', uid: 'sa-1', creationTimestamp: '2026-06-01T00:00:00Z' },
      spec: { audiences: [issuer], expirationSeconds: 600, boundObjectRef: null },
      status: { expirationTimestamp: '2026-06-01T00:10:00Z' },
    });
    expect(claimsOf(tokenOf(answer))).toEqual({
      aud: [issuer],
      exp: time / 1000 + 600,
      iat: time / 1000,
      nbf: time / 1000,
      iss: issuer,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'bot', uid: 'sa-1' } },
      sub: 'system:serviceaccount:shop:bot',
    });
  });

  it('is limited to the maximum lifetime of the server', () => {
    expect(request({ expirationSeconds: 7200 }, { max: 3600 })).toMatchObject({
      spec: { expirationSeconds: 3600 },
      status: { expirationTimestamp: '2026-06-01T01:00:00Z' },
    });
  });

  it.each<[object, string]>([
    [
      { expirationSeconds: 1 },
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes',
    ],
    [
      { expirationSeconds: 2 ** 32 + 1 },
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
    [{ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'x' } }, 'pods "x" not found'],
    [{ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'x' } }, 'secrets "x" not found'],
    [{ boundObjectRef: { kind: 'Foo', apiVersion: 'apps/v1', name: 'x' } }, 'cannot bind token to object of type apps/v1, Kind=Foo'],
    [{ boundObjectRef: { kind: 'Foo', apiVersion: 'v1', name: 'x' } }, 'cannot bind token to object of type /v1, Kind=Foo'],
  ])('%j is rejected', (spec, message) => {
    expect(failure(() => request(spec))).toBe(message);
  });

  it('for another name, namespace or uid, or for a missing account, is rejected', () => {
    expect(failure(() => request({}, { metadata: { name: 'other' } }))).toBe(
      'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified',
    );
    expect(failure(() => request({}, { metadata: { namespace: 'other' } }))).toContain(
      'must match the service account namespace if specified',
    );
    expect(failure(() => request({}, { metadata: { uid: 'other' } }))).toBe(
      'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID in the token request (other) does not match the UID of the service account (sa-1)',
    );
    expect(failure(() => request({}, { name: 'none' }))).toBe('serviceaccounts "none" not found');
  });

  it('may be bound to a pod of the account, and then the token names its node', () => {
    objects.put(core('pods'), object('Pod', 'web', 'pod-1', { spec: { serviceAccountName: 'bot', nodeName: 'n1' } }));
    const spec = { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web' } };
    expect(claimsOf(tokenOf(request(spec)))['kubernetes.io']).toMatchObject({ pod: { name: 'web', uid: 'pod-1' }, node: { name: 'n1' } });
    expect(failure(() => request({ boundObjectRef: { ...spec.boundObjectRef, uid: 'old' } }))).toContain(
      'the UID in the bound object reference (old) does not match the UID in record.',
    );
    objects.put(core('pods'), object('Pod', 'web', 'pod-1', { spec: { serviceAccountName: 'other' } }));
    expect(failure(() => request(spec))).toBe(
      'cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.',
    );
  });

  it('with the lifetime that kubelets request returns a token valid for a year, with a warning time', () => {
    objects.put(core('pods'), object('Pod', 'web', 'pod-1', { spec: { serviceAccountName: 'bot' } }));
    const claims = claimsOf(tokenOf(request({ expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web' } })));
    expect(claims).toMatchObject({ exp: time / 1000 + 31_536_000, 'kubernetes.io': { warnafter: time / 1000 + 3607 } });
  });
});

describe('a service account token', () => {
  it.each([
    ['ES256', ecKey],
    ['RS256', rsaKey],
  ] as const)('signed with %s authenticates the account', (_, key) => {
    const token = tokenOf(request({}, { key }));
    expect(authenticate(token)).toEqual({
      name: 'system:serviceaccount:shop:bot',
      uid: 'sa-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claimsOf(token)['jti'] as string}`] },
    });
  });

  it('maps to the same user object every time', () => {
    const tokens = serviceAccountTokens({ issuer, keys: [ecKey], objects, now: () => time });
    const bearer = bearerTokens([tokens], [issuer]);
    const authorization = `bearer ${tokenOf(request())}`;
    expect(bearer.authenticate({ authorization })).toBe(bearer.authenticate({ authorization }));
  });

  it('of a workspace names the workspace', () => {
    objects.put(core('serviceaccounts'), object('ServiceAccount', 'bot', 'sa-2'), 'tenant');
    const token = tokenOf(request({}, { cluster: asClusterId('tenant') }));
    expect(authenticate(token).extra).toMatchObject({ 'authentication.kcp.io/cluster-name': ['tenant'] });
  });

  it('names the pod and the node it is bound to', () => {
    objects.put(core('pods'), object('Pod', 'web', 'pod-1', { spec: { serviceAccountName: 'bot', nodeName: 'n1' } }));
    expect(authenticate(tokenOf(request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web' } }))).extra).toMatchObject({
      'authentication.kubernetes.io/pod-name': ['web'],
      'authentication.kubernetes.io/pod-uid': ['pod-1'],
      'authentication.kubernetes.io/node-name': ['n1'],
    });
  });

  it('expires, even if it was accepted before', () => {
    const tokens = serviceAccountTokens({ issuer, keys: [ecKey], objects, now: () => time });
    const token = tokenOf(request({ expirationSeconds: 600 }));
    const start = time;
    time = start + 659_000;
    expect(tokens.authenticateToken(token, [issuer])).toBeDefined();
    time = start + 661_000;
    expect(failure(() => tokens.authenticateToken(token, [issuer]))).toBe('service account token has expired');
    time = start - 61_000;
    expect(failure(() => tokens.authenticateToken(token, [issuer]))).toBe('service account token is not valid yet');
  });

  it('for another audience is rejected', () => {
    const token = tokenOf(request({ audiences: ['vault'] }));
    expect(failure(() => authenticate(token))).toBe(`token audiences ["vault"] is invalid for the target audiences ["${issuer}"]`);
    expect(authenticate(token, { audiences: ['vault'] }).name).toBe('system:serviceaccount:shop:bot');
  });

  it('of another issuer or another key is rejected', () => {
    const stranger = signingKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
    expect(failure(() => authenticate(tokenOf(request({}, { key: stranger }))))).toBe('invalid signature, no keys found');
    expect(failure(() => authenticate(tokenOf(request({}, { key: { ...stranger, kid: ecKey.kid } }))))).toBe(
      'the signature of the token is wrong',
    );
    expect(failure(() => authenticate(tokenOf(request()), { issuer: 'https://elsewhere', audiences: [issuer] }))).toBe(
      'invalid bearer token',
    );
  });

  it('that is forged is rejected', () => {
    const claims = claimsOf(tokenOf(request()));
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const [, body, signature] = tokenOf(request()).split('.') as [string, string, string];
    const none = `${part({ alg: 'none', kid: ecKey.kid })}.${part(claims)}.`;
    // The classic mistake: using the public key, which everybody has, as an HMAC secret.
    const signed = `${part({ alg: 'HS256', kid: rsaKey.kid })}.${part(claims)}`;
    const secret = rsaKey.publicKey.export({ type: 'spki', format: 'pem' });
    const confused = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
    const otherAlgorithm = `${part({ alg: 'RS256', kid: ecKey.kid })}.${body}.${signature}`;
    const otherClaims = `${part({ alg: 'ES256', kid: ecKey.kid })}.${part({ ...claims, sub: 'system:serviceaccount:kube-system:admin' })}.${signature}`;
    const critical = signedWithHeader({ alg: 'ES256', kid: ecKey.kid, crit: ['x'] }, claims);
    for (const token of [
      none,
      `${none}AAAA`,
      confused,
      otherAlgorithm,
      otherClaims,
      critical,
      'nope',
      'a.b.c',
      '..',
      `${tokenOf(request())}.x`,
    ]) {
      expect([token, failure(() => authenticate(token))]).toEqual([
        token,
        expect.stringMatching(/^(invalid bearer token|the signature of the token is wrong)$/),
      ]);
    }
  });

  it('is accepted in its canonical encoding only', () => {
    const token = tokenOf(request());
    for (const other of [`${token}=`, `${token.slice(0, -1)}${token.at(-1) === 'A' ? 'B' : 'A'}`, `${token}x`]) {
      expect(failure(() => authenticate(other))).toMatch(/invalid bearer token|signature of the token is wrong/);
    }
  });

  it('without the claims of this server is rejected', () => {
    const claims = claimsOf(tokenOf(request()));
    for (const bad of [
      { ...claims, exp: undefined },
      { ...claims, 'kubernetes.io': undefined },
      { ...claims, 'kubernetes.io': { namespace: 'shop' } },
    ]) {
      expect(failure(() => authenticate(encode(bad, ecKey)))).toContain('lacks claims');
    }
  });

  it.each<[string, () => void, string]>([
    [
      'the account was deleted',
      () => objects.remove({ ...core('serviceaccounts'), namespace: 'shop', name: 'bot' }),
      'serviceaccounts "bot" not found',
    ],
    [
      'the account was recreated',
      () => objects.put(core('serviceaccounts'), object('ServiceAccount', 'bot', 'sa-9')),
      'service account UID (sa-9) does not match claim (sa-1)',
    ],
    [
      'its secret was deleted',
      () => objects.remove({ ...core('secrets'), namespace: 'shop', name: 's' }),
      'service account token has been invalidated',
    ],
    [
      'its secret was recreated',
      () => objects.put(core('secrets'), object('Secret', 's', 's-9')),
      'secret UID (s-9) does not match service account secret ref claim (s-1)',
    ],
  ])('becomes invalid when %s', (_, change, message) => {
    objects.put(core('secrets'), object('Secret', 's', 's-1'));
    const tokens = serviceAccountTokens({ issuer, keys: [ecKey], objects, now: () => time });
    const token = tokenOf(request({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 's' } }));
    expect(tokens.authenticateToken(token, [issuer])).toBeDefined();
    change();
    expect(failure(() => tokens.authenticateToken(token, [issuer]))).toBe(message);
  });

  it('becomes invalid a minute after the deletion of its account began', () => {
    const tokens = serviceAccountTokens({ issuer, keys: [ecKey], objects, now: () => time });
    const token = tokenOf(request());
    const account = object('ServiceAccount', 'bot', 'sa-1');
    account.metadata.deletionTimestamp = new Date(time).toISOString();
    objects.put(core('serviceaccounts'), account);
    expect(tokens.authenticateToken(token, [issuer])).toBeDefined();
    time += 61_000;
    expect(failure(() => tokens.authenticateToken(token, [issuer]))).toBe('service account shop/bot has been deleted');
  });
});

/** A token with a valid signature and a header that demands an unknown extension. */
function signedWithHeader(header: object, claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), { key: ecKey.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

describe('the Authorization header', () => {
  const silent = bearerTokens([{ authenticateToken: () => undefined }], [issuer]);
  it.each(['Basic YTpi', 'Bearer', 'Bearer ', '', 'bearerx y'])('%j contains no credentials', (authorization) => {
    expect(silent.authenticate({ authorization })).toBeUndefined();
  });

  it('with an unknown token is rejected', () => {
    expect(() => silent.authenticate({ authorization: 'Bearer nope' })).toThrow(Unauthenticated);
  });

  it('is checked by all authenticators, including asynchronous ones', async () => {
    const user = { name: 'jane', groups: [] };
    const slow = { authenticateToken: async () => undefined };
    const knowing = { authenticateToken: () => ({ user, audiences: [] }) };
    await expect(bearerTokens([slow, knowing], []).authenticate({ authorization: 'Bearer x' })).resolves.toBe(user);
    await expect(bearerTokens([slow], []).authenticate({ authorization: 'Bearer x' })).rejects.toThrow('invalid bearer token');
  });
});

it('publishes the documents that others need to verify tokens', () => {
  const documents = openIdDocuments(issuer, 'https://10.0.0.1:6443/', [ecKey, rsaKey]);
  expect(JSON.parse(documents.configuration)).toEqual({
    issuer,
    jwks_uri: 'https://10.0.0.1:6443/openid/v1/jwks',
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
  });
  const { keys } = JSON.parse(documents.keys) as { keys: Record<string, string>[] };
  expect(keys[0]).toEqual({
    use: 'sig',
    kty: 'EC',
    kid: ecKey.kid,
    alg: 'ES256',
    crv: 'P-256',
    x: expect.any(String),
    y: expect.any(String),
  });
  expect(keys.some((key) => 'd' in key)).toBe(false);
});

it('reports a missing account as Kubernetes does', () => {
  try {
    request({}, { name: 'none' });
  } catch (error) {
    expect((error as StatusError).status).toMatchObject({
      code: 404,
      reason: 'NotFound',
      details: { name: 'none', kind: 'serviceaccounts' },
    });
  }
  expect.assertions(1);
});
