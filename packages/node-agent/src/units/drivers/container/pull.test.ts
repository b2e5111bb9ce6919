import { expect, test } from 'vitest';
import { EngineError } from './engine.ts';
import { problemOf } from './pull.ts';

test.each([
  ['reading manifest 2 in h/x: manifest unknown', 'ImageMissing', true],
  ['manifest for alpine:nope not found: manifest unknown: manifest unknown', 'ImageMissing', true],
  [
    'pull access denied for x, repository does not exist or may require docker login: denied: requested access to the resource is denied',
    'RegistryRefused',
    true,
  ],
  ['unauthorized: authentication required', 'RegistryRefused', true],
  ['toomanyrequests: You have reached your pull rate limit', 'RegistryUnavailable', false],
  ['dial tcp 127.0.0.1:1: connect: connection refused', 'RegistryUnavailable', false],
  ['Get "https://h/v2/": net/http: TLS handshake timeout', 'RegistryUnavailable', false],
  ['write /var/lib/x: no space left on device', 'DiskFull', false],
])('%s means %s', (message, reason, isFinal) => {
  expect(problemOf('h/x', new EngineError(500, message))).toMatchObject({ reason, isFinal });
});

test('an engine that does not answer is no fault of the registry', () => {
  expect(problemOf('h/x', new EngineError(0, 'gone'))).toMatchObject({ reason: 'DriverUnavailable', isFinal: false });
});
