import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { HostKey } from './host-key.ts';
import { WireReader } from './wire/reader.ts';

test('a key is the same after it was stored, and its signatures are those of ed25519', () => {
  const key = HostKey.fromPem(HostKey.generate().toPem());
  expect(HostKey.fromPem(key.toPem()).publicBlob).toEqual(key.publicBlob);
  const reader = new WireReader(key.publicBlob);
  expect(reader.text()).toBe('ssh-ed25519');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: reader.string().toString('base64url') }, format: 'jwk' });
  const signature = new WireReader(key.sign(Buffer.from('text')));
  expect(signature.text()).toBe('ssh-ed25519');
  expect(verify(null, Buffer.from('text'), publicKey, signature.string())).toBe(true);
  expect(key.knownHosts('*.example')).toMatch(/^\*\.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5[\w+/=]+\n$/);
});

test('rejects keys of other kinds', () => {
  const other = generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect(() => HostKey.fromPem(other)).toThrow('expected an ed25519 key, found x25519');
});
