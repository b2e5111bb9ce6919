import { expect, test } from 'vitest';
import { clearCookie, cookieStyle, readCookie, writeCookie } from './cookie.ts';
import { newSecret } from './secret.ts';

const plain = cookieStyle({ secure: false, port: 6445 });
const secure = cookieStyle({ secure: true, port: 443 });
const secret = newSecret();

test('a cookie cannot be read by scripts or sent by other sites, and over https by no other host', () => {
  expect(writeCookie(secure, secret, 60_000)).toBe(
    `__Host-capstan-console=${secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure`,
  );
  expect(writeCookie(plain, secret, 60_000)).toBe(`capstan-console-6445=${secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60`);
  expect(clearCookie(plain)).toContain('Max-Age=0');
});

test.each([
  ['nothing', undefined],
  ['', undefined],
  [`capstan-console-6445=${secret}`, secret],
  [`a=b; capstan-console-6445=${secret}; c`, secret],
  [`capstan-console-6445=${secret}; capstan-console-6445=${secret}`, secret],
  [`capstan-console-6445=${secret}; capstan-console-6445=${newSecret()}`, undefined],
  [`capstan-console-6446=${secret}`, undefined],
  [`capstan-console-6445=${secret}x`, undefined],
  ['capstan-console-6445=', undefined],
])('%j contains the secret %j', (header, expected) => {
  expect(readCookie(header, plain)).toBe(expected);
});
