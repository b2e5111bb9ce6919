import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { type CertificateRequest, der, type Issuer, issueCertificate } from '@capstan/pki';
import { describe, expect, it } from 'vitest';
import { clientCertificates } from './client-certificates.ts';
import { RecentlyUsed } from './recently-used.ts';
import { union } from './union.ts';
import { type Authenticator, Unauthenticated } from './user.ts';

const dates = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
const now = (): number => Date.parse('2026-06-01T00:00:00Z');
const newKeys = (): { publicKey: KeyObject; privateKey: KeyObject } => generateKeyPairSync('ec', { namedCurve: 'P-256' });

function authority(commonName: string): { pem: string; sign: (request: Partial<CertificateRequest>) => Buffer } {
  const { publicKey, privateKey } = newKeys();
  const pem = issueCertificate({ commonName, publicKey, usage: 'authority', ...dates }, { key: privateKey });
  return { pem, sign: signer({ key: privateKey, certificate: new X509Certificate(pem) }) };
}

function signer(issuer: Issuer): (request: Partial<CertificateRequest>) => Buffer {
  return (request) =>
    new X509Certificate(
      issueCertificate({ commonName: 'jane', publicKey: newKeys().publicKey, usage: 'client', ...dates, ...request }, issuer),
    ).raw;
}

function firstVersion(commonName: string): ReturnType<typeof authority> {
  const { publicKey, privateKey } = newKeys();
  const algorithm = der.sequence(der.objectIdentifier('1.2.840.10045.4.3.2'));
  const name = der.sequence(der.set(der.sequence(der.objectIdentifier('2.5.4.3'), der.utf8String(commonName))));
  const validity = der.sequence(der.time(dates.notBefore), der.time(dates.notAfter));
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const body = der.sequence(der.integer(Buffer.from([1])), algorithm, name, validity, name, key);
  const certificate = new X509Certificate(der.sequence(body, algorithm, der.bitString(sign('sha256', body, privateKey))));
  return { pem: certificate.toString(), sign: signer({ key: privateKey, certificate }) };
}

const ours = authority('kubernetes');
const authenticator = clientCertificates(ours.pem, { now });
const authenticate = (raw: Buffer, by: Authenticator = authenticator): unknown => by.authenticate({ certificate: () => raw });

describe('a client certificate', () => {
  it('is optional', () => {
    expect(authenticator.authenticate({})).toBeUndefined();
    expect(authenticator.authenticate({ certificate: () => undefined })).toBeUndefined();
  });

  it('names the user and the groups', () => {
    const raw = ours.sign({ commonName: 'jane', organizations: ['devs', 'on, call + "x"'] });
    expect(authenticate(raw)).toEqual({
      name: 'jane',
      groups: ['devs', 'on, call + "x"', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
    });
  });

  it('maps to the same user object every time, so that caches can use it as a key', () => {
    const raw = ours.sign({});
    expect(authenticate(raw)).toBe(authenticate(raw));
    expect(authenticate(raw)).toBe(authenticate(Buffer.from(raw)));
  });

  it('without a common name identifies no user', () => {
    expect(authenticate(ours.sign({ commonName: '' }))).toBeUndefined();
  });

  it('of another authority is rejected, even if the authority has the same name', () => {
    for (const other of [authority('stranger'), authority('kubernetes')]) {
      const raw = other.sign({ organizations: ['system:masters'] });
      expect(() => authenticate(raw)).toThrow(Unauthenticated);
      expect(() => authenticate(raw)).toThrow(/not signed by an authority/);
    }
  });

  it('of any authority in a bundle is accepted', () => {
    const other = authority('second');
    const both = clientCertificates(`${ours.pem}\n# comment\n${other.pem}`, { now });
    expect(authenticate(other.sign({}), both)).toMatchObject({ name: 'jane' });
  });

  it('of a certificate signer may name any group but system:masters', () => {
    const signer = authority('signer');
    const both = clientCertificates(ours.pem, { now, signersPem: signer.pem });
    expect(authenticate(signer.sign({ organizations: ['devs'] }), both)).toMatchObject({ name: 'jane' });
    expect(() => authenticate(signer.sign({ organizations: ['devs', 'system:masters'] }), both)).toThrow(/which its signer cannot give/);
    expect(authenticate(ours.sign({ organizations: ['system:masters'] }), both)).toMatchObject({ name: 'jane' });
  });

  it('is accepted when the client sends the intermediate authorities, even if an earlier connection did not', () => {
    const below = (commonName: string) => {
      const keys = newKeys();
      const raw = ours.sign({ commonName, publicKey: keys.publicKey, usage: 'authority' });
      return { raw, issuer: { key: keys.privateKey, certificate: new X509Certificate(raw) } };
    };
    const leafOf = (between: ReturnType<typeof below>, ...organizations: string[]): Buffer => {
      const { publicKey } = newKeys();
      return new X509Certificate(
        issueCertificate({ commonName: 'jane', organizations, publicKey, usage: 'client', ...dates }, between.issuer),
      ).raw;
    };
    let shown: Buffer[] = [];
    const by = clientCertificates(ours.pem, { now, intermediatesOf: () => shown });
    const [middle, signer] = [below('middle'), below('capstan-signer')];
    const leaf = leafOf(middle);
    expect(() => authenticate(leaf, by)).toThrow(/not signed by an authority/);
    shown = [Buffer.from('garbage'), signer.raw, middle.raw];
    expect(authenticate(Buffer.from(leaf), by)).toMatchObject({ name: 'jane' });
    expect(authenticate(leafOf(middle, 'system:masters'), by)).toMatchObject({ groups: ['system:masters', 'system:authenticated'] });
    // The signer of another server with the same authority.
    expect(authenticate(leafOf(signer), by)).toMatchObject({ name: 'jane' });
    expect(() => authenticate(leafOf(signer, 'system:masters'), by)).toThrow(/which its signer cannot give/);
    const stranger = authority('middle');
    shown = [new X509Certificate(stranger.pem).raw];
    expect(() => authenticate(stranger.sign({}), by)).toThrow(/not signed by an authority/);
  });

  it('signed by a certificate that is not an authority is rejected', () => {
    const keys = newKeys();
    const leaf = new X509Certificate(ours.sign({ publicKey: keys.publicKey }));
    const raw = new X509Certificate(
      issueCertificate(
        { commonName: 'root', publicKey: newKeys().publicKey, usage: 'client', ...dates },
        { key: keys.privateKey, certificate: leaf },
      ),
    ).raw;
    expect(() => authenticate(raw)).toThrow(Unauthenticated);
    expect(() => authenticate(raw, clientCertificates(leaf.toString(), { now }))).toThrow(Unauthenticated);
  });

  it('of a trusted X.509 v1 authority is accepted', () => {
    const old = firstVersion('old');
    expect(authenticate(old.sign({}), clientCertificates(old.pem, { now }))).toMatchObject({ name: 'jane' });
    expect(() => authenticate(old.sign({}))).toThrow(/not signed by an authority/);
  });

  it('for servers is rejected', () => {
    expect(() => authenticate(ours.sign({ usage: 'server' }))).toThrow(/not meant for client authentication/);
  });

  it('is rejected outside of its validity, even if it was accepted before', () => {
    let time = now();
    const watching = clientCertificates(ours.pem, { now: () => time });
    const raw = ours.sign({});
    expect(authenticate(raw, watching)).toMatchObject({ name: 'jane' });
    time = Date.parse('2027-01-02T00:00:00Z');
    expect(() => authenticate(raw, watching)).toThrow(/valid from 2026-01-01/);
    time = Date.parse('2025-12-31T00:00:00Z');
    expect(() => authenticate(raw, watching)).toThrow(Unauthenticated);
  });

  it('that cannot be parsed is rejected', () => {
    expect(() => authenticate(Buffer.from('nonsense'))).toThrow(/cannot be parsed/);
  });

  it('with an invalid signature is rejected', () => {
    const raw = Buffer.from(ours.sign({}));
    raw[raw.length - 3]! ^= 1;
    expect(() => authenticate(raw)).toThrow(Unauthenticated);
  });

  it('cannot be configured without an authority', () => {
    expect(() => clientCertificates('')).toThrow(/expected at least one certificate/);
  });
});

describe('union', () => {
  const jane = { name: 'jane', groups: [] };
  const knows: Authenticator = { authenticate: () => jane };
  const later: Authenticator = { authenticate: async () => jane };
  const silent: Authenticator = { authenticate: () => undefined };
  const silentLater: Authenticator = { authenticate: async () => undefined };
  const refuses: Authenticator = {
    authenticate: () => {
      throw new Unauthenticated('wrong');
    },
  };
  const refusesLater: Authenticator = { authenticate: () => Promise.reject(new Unauthenticated('wrong, later')) };
  const breaks: Authenticator = {
    authenticate: () => {
      throw new TypeError('a bug');
    },
  };

  it('answers synchronously when it can', () => {
    expect(union([silent, knows, later]).authenticate({})).toBe(jane);
    expect(union([silent]).authenticate({})).toBeUndefined();
  });

  it('tries the next authenticator after a promise or a rejection', async () => {
    await expect(union([silentLater, refuses, later]).authenticate({})).resolves.toBe(jane);
    expect(union([refuses, knows]).authenticate({})).toBe(jane);
  });

  it('rejects when one rejected the credentials and none accepted them', async () => {
    expect(() => union([refuses, silent]).authenticate({})).toThrow('wrong');
    await expect(union([refusesLater, silent]).authenticate({})).rejects.toThrow('wrong, later');
  });

  it('passes unexpected errors on', () => {
    expect(() => union([breaks, knows]).authenticate({})).toThrow(TypeError);
  });
});

it('RecentlyUsed evicts the least recently used entry', () => {
  const map = new RecentlyUsed<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.get('a');
  map.set('c', 3);
  expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2]);
});
