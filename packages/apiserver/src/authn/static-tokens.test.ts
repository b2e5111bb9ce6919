import { expect, it } from 'vitest';
import { staticTokens } from './static-tokens.ts';

const audiences = ['api'];
const file = 'secret-1,jane,u1,"devs,ops"\nsecret-2 , joe , u2\r\n\n"se""cret",max,,devs\n';
const tokens = staticTokens(file, audiences);

it.each([
  ['secret-1', { name: 'jane', uid: 'u1', groups: ['devs', 'ops', 'system:authenticated'] }],
  ['secret-2', { name: 'joe', uid: 'u2', groups: ['system:authenticated'] }],
  ['se"cret', { name: 'max', groups: ['devs', 'system:authenticated'] }],
])('%s is accepted', (token, user) => {
  expect(tokens.authenticateToken(token, audiences)).toEqual({ user, audiences });
});

it.each(['', 'secret', 'secret-1 ', 'SECRET-1', 'jane'])('%j is unknown', (token) => {
  expect(tokens.authenticateToken(token, audiences)).toBeUndefined();
});

it('a token is valid for this server only', () => {
  expect(tokens.authenticateToken('secret-1', ['vault'])).toBeUndefined();
  expect(tokens.authenticateToken('secret-1', ['vault', 'api'])).toMatchObject({ audiences: ['api'] });
});

it.each([
  ['a,b\n', /record 1 .* has 2 columns/],
  ['a,b,c\n,joe,u', /record 2 .* empty token/],
  ['a,b,c\n"a"x,b,c', /record 2 .* not CSV/],
])('the file %j is rejected', (text, message) => {
  expect(() => staticTokens(text, audiences)).toThrow(message);
});
