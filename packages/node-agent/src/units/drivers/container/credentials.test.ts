import { expect, test } from 'vitest';
import { registryAuth, registryOf } from './credentials.ts';

test.each([
  ['ubuntu', 'docker.io'],
  ['library/ubuntu:24.04', 'docker.io'],
  ['quay.io/team/image:1', 'quay.io'],
  ['localhost/image', 'localhost'],
  ['registry:5000/image', 'registry:5000'],
])('the registry of %s is %s', (image, host) => {
  expect(registryOf(image).host).toBe(host);
});

const config = (auths: object): string => JSON.stringify({ auths });
const decoded = (header: string | undefined): unknown => header && JSON.parse(Buffer.from(header, 'base64url').toString());

test('the longest key that fits wins, and others are never sent', () => {
  const pullConfig = config({
    'quay.io': { username: 'a', password: '1' },
    'quay.io/team': { auth: Buffer.from('b:2:3').toString('base64') },
    'quay.io/other': { username: 'c', password: '4' },
  });
  expect(decoded(registryAuth('quay.io/team/image:1', pullConfig))).toEqual({ username: 'b', password: '2:3' });
  expect(decoded(registryAuth('quay.io/teams/image:1', pullConfig))).toEqual({ username: 'a', password: '1' });
  expect(registryAuth('quay.io.example.com/image', pullConfig)).toBeUndefined();
  expect(registryAuth('ubuntu', pullConfig)).toBeUndefined();
});

test('Docker Hub has several names, and a token is sent alone', () => {
  expect(decoded(registryAuth('ubuntu', config({ 'https://index.docker.io/v1/': { identitytoken: 'x', username: '' } })))).toEqual({
    identitytoken: 'x',
  });
});

test('a configuration that cannot be read has no credentials', () => {
  expect(registryAuth('ubuntu', 'nonsense')).toBeUndefined();
});
