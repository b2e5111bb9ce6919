import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { nodeAgentGroup } from '@capstan/api';
import { issueCertificate, signingKey } from '@capstan/pki';
import { beforeEach, describe, expect, test } from 'vitest';
import { bearerTokens } from './bearer.ts';
import { CertificateTokens } from './certificate-tokens.ts';
import { clientCertificates } from './client-certificates.ts';
import { encode, partOf, signatureOf } from './jwt.ts';

const hour = 3_600_000;
const audiences = ['https://this.example'];
const key = signingKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const otherKey = signingKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);

function authority() {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const dates = { notBefore: new Date(Date.now() - hour), notAfter: new Date(Date.now() + 1_000 * hour) };
  const pem = issueCertificate({ commonName: 'root', publicKey: pair.publicKey, usage: 'authority', ...dates }, { key: pair.privateKey });
  const sign = (commonName: string, organizations: string[], hours: number): Buffer => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const notAfter = new Date(Date.now() + hours * hour);
    const client = issueCertificate(
      { commonName, organizations, publicKey, usage: 'client', notBefore: dates.notBefore, notAfter },
      { key: pair.privateKey, certificate: new X509Certificate(pem) },
    );
    return new X509Certificate(client).raw;
  };
  return { pem, sign };
}

const trusted = authority();
const jane = trusted.sign('jane', ['system:masters'], 3);
let time: number;
let certificates = clientCertificates(trusted.pem, { now: () => time });
let tokens: CertificateTokens;
beforeEach(() => {
  time = Date.now();
  certificates = clientCertificates(trusted.pem, { now: () => time });
  tokens = new CertificateTokens({
    key,
    audiences,
    now: () => time,
    certificates: { authenticate: (given) => certificates.authenticate(given) },
  });
});

const userOf = (token: string) => bearerTokens([tokens], audiences).authenticate({ authorization: `Bearer ${token}` });

test('a token means the same user and groups as the certificate, and the audit log shows both', async () => {
  const { token, expirationTimestamp } = tokens.issue(jane);
  expect(Date.parse(expirationTimestamp)).toBe(Math.floor(time / 1000) * 1000 + 12 * hour);
  const direct = await certificates.authenticate({ certificate: () => jane });
  expect(await userOf(token)).toEqual({
    ...direct,
    extra: {
      'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=/), expect.stringMatching(/^JTI=/)],
    },
  });
});

describe('a token ends', () => {
  test('at its own time', () => {
    const { token } = tokens.issue(jane, 600);
    time += 599_000;
    expect(userOf(token)).toMatchObject({ name: 'jane' });
    time += 2_000;
    expect(() => userOf(token)).toThrow('has expired');
  });

  test('with the certificate', () => {
    const { token } = tokens.issue(jane);
    time += 4 * hour;
    expect(() => userOf(token)).toThrow('the client certificate is valid from');
  });

  test('with the authority of the certificate, at once', () => {
    const { token } = tokens.issue(jane);
    expect(userOf(token)).toMatchObject({ name: 'jane' });
    certificates = clientCertificates(authority().pem, { now: () => time });
    expect(() => userOf(token)).toThrow('not signed by an authority that this server trusts');
  });
});

describe('a token is refused', () => {
  const claims = { aud: audiences[0], exp: Math.floor(Date.now() / 1000) + 600, jti: 'x', certificate: jane.toString('base64') };

  test('if somebody else signed it', () => {
    const signed = `capstan-session.${partOf(claims)}`;
    expect(() => userOf(`${signed}.${signatureOf(signed, otherKey)}`)).toThrow('signature');
  });

  test('if any part of it was changed', () => {
    const { token } = tokens.issue(jane);
    const [prefix, , signature] = token.split('.');
    expect(() => userOf(`${prefix}.${partOf(claims)}.${signature}`)).toThrow('signature');
    expect(() => userOf(`${token}A`)).toThrow('signature');
  });

  test('if it is a service account token in disguise', () => {
    expect(() => userOf(`capstan-session.${encode(claims, key)}`)).toThrow('signature');
  });

  test('for another server', () => {
    const { token } = tokens.issue(jane);
    expect(() => tokens.authenticateToken(token, ['https://other.example'])).toThrow('another server');
  });
});

describe('no token is issued', () => {
  test.each([
    ['without a certificate', undefined, undefined, 'expected a client certificate'],
    ['for a certificate of a stranger', authority().sign('jane', [], 1), undefined, 'signed by an authority of this server'],
    ['for a machine', trusted.sign('system:capstan-node-a', [nodeAgentGroup], 1), undefined, 'machines'],
    ['for longer than a day', jane, 86_401, 'expirationSeconds'],
    ['for no time', jane, 0, 'expirationSeconds'],
    ['for a text', jane, 'long', 'expirationSeconds'],
  ])('%s', (_what, certificate, seconds, message) => {
    expect(() => tokens.issue(certificate, seconds)).toThrow(message);
  });
});
