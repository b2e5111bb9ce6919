import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { issueCertificate } from './certificate.ts';
import { certificateFingerprint, isRenewalProof, pinnedCertificate, publicKeyHash, renewalProof } from './proof.ts';

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

test('a proof holds for its key and its request alone', () => {
  const [one, other] = [pair(), pair()];
  const proof = renewalProof(one.privateKey, 'request');
  expect(isRenewalProof(proof, 'request', one.publicKey)).toBe(true);
  expect(isRenewalProof(proof, 'another request', one.publicKey)).toBe(false);
  expect(isRenewalProof(proof, 'request', other.publicKey)).toBe(false);
  expect(isRenewalProof('no signature', 'request', one.publicKey)).toBe(false);
});

test('both halves of a pair have the same hash', () => {
  const { privateKey, publicKey } = pair();
  expect(publicKeyHash(privateKey)).toBe(publicKeyHash(publicKey));
  expect(publicKeyHash(pair().publicKey)).not.toBe(publicKeyHash(publicKey));
});

const authority = (commonName: string): string => {
  const { privateKey: key, publicKey } = pair();
  const dates = { notBefore: new Date(), notAfter: new Date(Date.now() + 1000) };
  return issueCertificate({ commonName, publicKey, ...dates, usage: 'authority' }, { key });
};

test('the fingerprint of a certificate is the one that other programs show', () => {
  const pem = authority('a');
  expect(certificateFingerprint(pem)).toBe(new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase());
});

test('a fingerprint vouches for one of several certificates, and for no other', () => {
  const [one, other] = [authority('a'), authority('b')];
  for (const bundle of [one + other, other + one]) expect(pinnedCertificate(bundle, certificateFingerprint(one))).toBe(one);
  expect(pinnedCertificate(other, certificateFingerprint(one))).toBeUndefined();
  expect(pinnedCertificate('', certificateFingerprint(one))).toBeUndefined();
});
