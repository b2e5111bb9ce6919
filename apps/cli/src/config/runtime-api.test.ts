import { writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { readProcessConfig } from './capstan.ts';
import { runtimeApiShape } from './runtime-api.ts';

function read(text: string) {
  using directory = temporaryDirectory('config');
  const file = directory.join('capstan.yaml');
  writeFileSync(file, text);
  return readProcessConfig(file, 'runtimeApi', runtimeApiShape).settings;
}

test('reads its section', () => {
  expect(read('runtimeApi: { listen: { host: "::1", port: 0 }, limits: { streamsPerUser: 4 } }\n')).toEqual({
    listen: { host: '::1', port: 0 },
    limits: { streamsPerUser: 4 },
  });
});

test.each([
  ['runtimeApi: { listen: { host: 0.0.0.0 } }\n', 'tokens would cross the network in plain text'],
  ['runtimeApi: { tls: { certificateFile: a.crt } }\n', 'expected both "certificateFile" and "keyFile"'],
  ['runtimeApi: { limits: { bodyBytes: 1 } }\n', 'expected a whole number from 1024 to 67108864'],
  ['runtimeApi: { port: 1 }\n', 'unknown setting "port"'],
])('refuses %j', (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test('listens elsewhere with TLS, or behind something that encrypts', () => {
  expect(read('runtimeApi: { listen: { host: 0.0.0.0 }, plainText: true }\n')).toMatchObject({ plainText: true });
  expect(read('runtimeApi: { listen: { host: 0.0.0.0 }, tls: { certificateFile: a, keyFile: b } }\n')).toHaveProperty('tls');
});
