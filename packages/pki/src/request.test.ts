import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCertificateRequest, issueCertificate, parseCertificateRequest } from './index.ts';

const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

describe('a certificate request', () => {
  it.each([
    ['EC', elliptic],
    ['RSA', rsa],
  ])('created with an %s key can be parsed', (_, key) => {
    const asked = { commonName: 'jane', organizations: ['devs', 'müller & söhne'], organizationalUnits: ['night shift'] };
    const pem = createCertificateRequest({ ...asked, key, hosts: ['api.example.com', '10.0.0.7', 'fd00::7'] });
    const parsed = parseCertificateRequest(pem);
    expect(parsed).toMatchObject({ ...asked, names: { dns: [{}], addresses: [{}, {}], emails: [], uris: [] } });
  });

  it('without a name or alternative names can be parsed', () => {
    const parsed = parseCertificateRequest(createCertificateRequest({ commonName: '', key: elliptic }));
    expect(parsed).toMatchObject({ commonName: '', organizations: [], names: { dns: [], addresses: [] } });
  });

  it('that is damaged anywhere is rejected without throwing', () => {
    const pem = createCertificateRequest({ commonName: 'jane', organizations: ['devs'], key: elliptic, hosts: ['a.example.com'] });
    const body = Buffer.from(pem.split('\n').slice(1, -2).join(''), 'base64');
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, difference) => {
        const damaged = Buffer.from(body);
        damaged[at]! ^= difference;
        const text = `-----BEGIN CERTIFICATE REQUEST-----\n${damaged.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
        expect(typeof parseCertificateRequest(text)).toBe('string');
      }),
    );
  });

  it('with a SHA-1 signature is accepted, as in Kubernetes', () => {
    const body =
      'MIHGMHACAQAwDjEMMAoGA1UEAwwDb2xkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEi63jRVysYdKhLjIDGEeqO15Z3hqseZLEPEThyVVIbT27vWNoucd/8jA6FB4Tdt' +
      'cuPXMSf84UtqaWwidsJ5km6KAAMAkGByqGSM49BAEDRwAwRAIgQvnSjPeyVx6TigeLfXD2fA/FeuErIsLL/soWAswoQp0CIGV1owuzMmfvFciyhex1MZU7Bv2qebqPC2Ndh+Pyslr+';
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`;
    expect(parseCertificateRequest(pem)).toMatchObject({ commonName: 'old' });
  });

  it('of the wrong type is rejected', () => {
    expect(parseCertificateRequest('hello')).toBe('PEM block type must be CERTIFICATE REQUEST');
    expect(parseCertificateRequest('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toBe(
      'PEM block type must be CERTIFICATE REQUEST',
    );
  });
});

it('a certificate has the requested usages', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const dates = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
  const usage = ['digital signature', 'key encipherment', 'decipher only', 'server auth', 'client auth', 'email protection', 's/mime'];
  const certificate = new X509Certificate(issueCertificate({ commonName: 'c', publicKey, usage, ...dates }, { key: privateKey }));
  expect([certificate.ca, certificate.keyUsage]).toEqual([false, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.4']]);
  // keyUsage: bits 0, 2 and 8, in two bytes of which seven bits are unused.
  expect(certificate.raw.includes(Buffer.from('0603551d0f0101ff0405030307a080', 'hex'))).toBe(true);
});
