import { writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { readProcessConfig } from './capstan.ts';
import { consoleShape, needsCertificate } from './console.ts';

function read(text: string) {
  using directory = temporaryDirectory('config');
  const file = directory.join('capstan.yaml');
  writeFileSync(file, text);
  return readProcessConfig(file, 'console', consoleShape).settings;
}

test('reads its section, with paths relative to the file', () => {
  const settings = read(
    'console: { listen: { host: "::1", port: 0 }, pagesDirectory: pages, oidc: { issuer: "https://a.example", clientId: c, clientSecretFile: s } }\n',
  );
  expect(settings).toMatchObject({
    listen: { host: '::1', port: 0 },
    pagesDirectory: expect.stringMatching(/^\/.*\/pages$/),
    oidc: { clientSecretFile: expect.stringMatching(/^\/.*\/s$/) },
  });
});

test.each([
  ['console: { tls: { certificateFile: a.crt } }\n', 'expected both "certificateFile" and "keyFile"'],
  ['console: { oidc: { issuer: "https://a.example" } }\n', 'expected both "issuer" and "clientId"'],
  ['console: { sessions: { idleMinutes: 0 } }\n', 'expected a whole number from 1 to 525600'],
  ['console: { port: 1 }\n', 'unknown setting "port"'],
])('refuses %j', (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test.each([
  ['console: {}\n', false],
  ['console: { listen: { host: "::1" } }\n', false],
  ['console: { listen: { host: 0.0.0.0 } }\n', true],
  ['console: { listen: { host: 0.0.0.0 }, plainText: true }\n', false],
  ['console: { listen: { host: 0.0.0.0 }, tls: { certificateFile: a, keyFile: b } }\n', false],
])('%j needs a certificate of the platform: %j', (text, expected) => {
  expect(needsCertificate(read(text))).toBe(expected);
});
