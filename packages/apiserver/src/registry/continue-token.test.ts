import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeToken, encodeToken } from './continue-token.ts';

test('a token returns to where the list stopped', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.stringMatching(/^[a-z0-9-]{1,20}(\/[a-z0-9-]{1,20})?$/), (revision, after) => {
      expect(decodeToken(encodeToken({ revision, after }))).toEqual({ revision, after });
    }),
  );
});

test('rejects everything else that a client may send', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => Buffer.from(text).toString('base64url')),
      ),
      (text) => {
        expect(() => decodeToken(text)).toThrow(/^invalid continue token: /);
      },
    ),
  );
});

test('a token cannot leave its list', () => {
  const forged = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: 5, start: '../secrets/x' })).toString('base64url');
  expect(() => decodeToken(forged)).toThrow('is not within the list');
});

test.each([
  ['%%', 0],
  ['abc=', 3],
  ['abcde', 4],
  ['ab c', 2],
])('reports where %s is not base64', (text, at) => {
  expect(() => decodeToken(text)).toThrow(`continue key is not valid: illegal base64 data at input byte ${at}`);
});
