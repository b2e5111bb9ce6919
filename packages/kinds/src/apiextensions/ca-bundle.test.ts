import { generateKeyPairSync } from 'node:crypto';
import { issueCertificate } from '@capstan/pki';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundleProblem } from './ca-bundle.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const life = { notBefore: new Date(), notAfter: new Date(Date.now() + 3_600_000) };
const certificate = issueCertificate({ commonName: 'a', publicKey, usage: 'authority', ...life }, { key: privateKey });
const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const bad = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const problem = (text: string): string | undefined => bundleProblem(Buffer.from(text).toString('base64'));

describe('a caBundle', () => {
  it.each([
    ['one certificate', certificate],
    ['a certificate among other data', `junk\n${key}${certificate}junk`],
    ['a bad certificate and a good one', bad + certificate],
    ['a good certificate and a bad one', certificate + bad],
    ['no content', ''],
  ])('is accepted with %s', (_, text) => {
    expect(problem(text)).toBeUndefined();
  });

  it.each([
    ['text', 'nonsense', 'unable to parse bytes as PEM block'],
    ['whitespace', '  \n', 'unable to parse bytes as PEM block'],
    ['an unfinished block', certificate.replace(/-----END.*/, ''), 'unable to parse bytes as PEM block'],
    ['a key', key, 'no valid certificate authority data seen'],
    ['a certificate with headers', certificate.replace('-----\n', '-----\nA: b\n\n'), 'no valid certificate authority data seen'],
    ['a bad certificate', bad, 'failed to parse certificate: x509: malformed certificate'],
    ['an empty certificate', bad.replace('AAAA\n', ''), 'failed to parse certificate: x509: malformed certificate'],
  ])('is rejected with %s', (_, text, why) => {
    expect(problem(text)).toBe(`unable to load root certificates: ${why}`);
  });

  it('is parsed without failing, whatever it contains and however long it is', () => {
    const piece = fc.constantFrom('-----BEGIN ', '-----END ', 'CERTIFICATE', '-----', '\n', 'AAAA', 'A: b', certificate);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        if (!text.includes('-----BEGIN ') && text !== '') expect(problem(text)).toContain('unable to parse bytes as PEM block');
        else expect(() => problem(text)).not.toThrow();
      }),
    );
    expect(problem(`${'-----BEGIN CERTIFICATE-----\n'.repeat(50_000)}-----END NOTHING-----`)).toContain('unable to parse bytes');
  });
});
