import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { scriptsOf } from '../../adapter/scripts.ts';
import { findingsOf } from './probe-answer.ts';

/** A certificate that is valid from 2020-01-01 to 2049-02-03T04:05:06Z. Nobody looks at its signature here. */
const der = Buffer.from(
  'MIIBizCCATGgAwIBAgIQW0ZTRrPPntoCe/Ax7vDQzjAKBggqhkjOPQQDAjAMMQowCAYDVQQDDAFhMB4XDTIwMDEwMTAwMDAwMFoXDTQ5MDIwMzA0MDUwNlowDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABL1J3+ANu2hNXUJ6TvWP/JxOMAt55xpczGFfpbo8zcIPLrQt7eUbJ4xABYon91PBNzUSSNMHggcd7xX0YKTApTajdTBzMAwGA1UdEwEB/wQCMAAwHQYDVR0OBBYEFHh0VR9mFeHyqJ2nL3tCbyqnmhzdMB8GA1UdIwQYMBaAFHh0VR9mFeHyqJ2nL3tCbyqnmhzdMA4GA1UdDwEB/wQEAwIHgDATBgNVHSUEDDAKBggrBgEFBQcDAjAKBggqhkjOPQQDAgNIADBFAiEAsONzYmEr+XBJ6trdUJVAmLVbQFd0LVVZzgB1wuN4hfcCIHzea5a2DM4mPLYRze4u4NEqpWbT48xZ5Wz4zILJ5ngO',
  'base64',
);
const end = Buffer.from('\x17\x0d490203040506Z', 'latin1');

/** With another end, as an ASN.1 time. */
function certificate(time: string): string {
  const at = der.indexOf(end);
  const other = Buffer.concat([Buffer.from([time.length === 13 ? 0x17 : 0x18, time.length]), Buffer.from(time)]);
  const bytes = Buffer.concat([der.subarray(0, at), other, der.subarray(at + end.length)]);
  return `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

/** The findings of the part of the script that reads certificates, without openssl. */
function look(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-certificates-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'etcd'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const { content } = scriptsOf('kubernetes').find(({ name }) => name === 'kubernetes-probe')!;
  expect(content).not.toMatch(/^[^#]*openssl/m);
  const part = content.slice(content.indexOf('expiry() {'));
  const output = execFileSync('sh', ['-uc', `tls=${folder} data=${folder}/data\n${part}`], { encoding: 'utf8' });
  return findingsOf({ exitCode: 0, output });
}

test.each([
  [
    'the first of several',
    { 'a.crt': certificate('490203040506Z'), 'etcd/b.crt': certificate('480203040506Z') },
    '2048-02-03T04:05:06.000Z',
  ],
  ['one after 2049', { 'a.crt': certificate('29990203040506Z') }, '2999-02-03T04:05:06.000Z'],
  ['the first of a chain', { 'a.crt': certificate('480203040506Z') + certificate('470203040506Z') }, '2048-02-03T04:05:06.000Z'],
  [
    'none of an authority',
    { 'a.crt': certificate('480203040506Z'), 'server-ca.crt': certificate('300203040506Z') },
    '2048-02-03T04:05:06.000Z',
  ],
])('reads when certificates expire: %s', (_, files, time) => {
  expect(look(files)).toMatchObject({ certificatesExpireAt: time, isExpiring: false, isExpiryUnknown: false });
});

test('says which certificates expire soon, and that there are some that nobody can read', () => {
  expect(look({ 'a.crt': certificate('210203040506Z') })).toMatchObject({
    certificatesExpireAt: '2021-02-03T04:05:06.000Z',
    isExpiring: true,
  });
  expect(look({ 'a.crt': 'nothing' })).toMatchObject({ isExpiring: false, isExpiryUnknown: true });
  expect(look({})).toMatchObject({ isExpiring: false, isExpiryUnknown: false });
});
